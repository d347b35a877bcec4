// Floats of 8 bits and fewer, a byte each, to double and back, where they are rounded once, to nearest even. A finite
// value beyond the largest one becomes an infinity or a NaN, or the largest where a format has neither.
#define IEEE 0           // infinities and NaNs have the largest exponent
#define FINITE_NAN 1     // NaN is all ones, and there is no infinity
#define UNSIGNED_ZERO 2  // NaN is the pattern of minus zero, and there is no infinity
#define FINITE 3         // there is neither
template <int EXPONENT, int MANTISSA, int BIAS, int SPECIALS> struct Mini {
  static constexpr int kSign = 1 << (EXPONENT + MANTISSA), kInfinity = kSign - (1 << MANTISSA);
  static constexpr int kNan = SPECIALS == IEEE         ? kInfinity | 1 << (MANTISSA - 1)
                              : SPECIALS == FINITE_NAN ? kSign - 1
                                                       : kSign;
  static constexpr int kLargest = SPECIALS == IEEE ? kInfinity - 1 : SPECIALS == FINITE_NAN ? kSign - 2 : kSign - 1;
  u8 bits;
};
struct f8e8m0 { u8 bits; };  // a power of two

__device__ inline f64 power_of_two(int exponent) { return of_bits((u64)(exponent + 1023) << 52); }
__device__ inline f64 not_a_number() { return of_bits(0x7ff8000000000000ull); }

__device__ inline f64 wide(f8e8m0 x) { return x.bits == 255 ? not_a_number() : power_of_two(x.bits - 127); }
template <int E, int M, int B, int S> __device__ inline f64 wide(Mini<E, M, B, S> x) {
  typedef Mini<E, M, B, S> T;
  const int magnitude = x.bits & (T::kSign - 1), exponent = magnitude >> M;
  if (S == IEEE ? magnitude > T::kInfinity : S == FINITE_NAN ? magnitude == T::kNan : S == UNSIGNED_ZERO && x.bits == T::kNan)
    return not_a_number();
  f64 y = exponent == 0 ? magnitude * power_of_two(1 - B - M)
                        : ((magnitude & ((1 << M) - 1)) + (1 << M)) * power_of_two(exponent - B - M);
  if (S == IEEE && magnitude == T::kInfinity) y = of_bits(0x7ff0000000000000ull);
  return x.bits & T::kSign ? -y : y;
}

template <int E, int M, int B, int S> struct Narrow<Mini<E, M, B, S>> {
  static __device__ inline Mini<E, M, B, S> of(f64 x) {
    typedef Mini<E, M, B, S> T;
    constexpr bool kSignedNan = S == IEEE || S == FINITE_NAN;
    const i64 bits = __double_as_longlong(x);
    const int sign = bits < 0 ? T::kSign : 0, nan = kSignedNan ? sign | T::kNan : T::kNan;
    if (x != x) return {(u8)nan};
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    if (exponent < 1 - B) exponent = 1 - B;
    // A carry out of the mantissa moves into the exponent, which is what the next binade needs.
    int magnitude = exponent > (1 << E) - B
                        ? T::kSign
                        : (int)rint(fabs(x) * power_of_two(M - exponent)) + ((exponent + B - 1) << M);
    if (magnitude > T::kLargest) {
      if (S == FINITE_NAN || S == UNSIGNED_ZERO) return {(u8)nan};
      magnitude = S == IEEE ? T::kInfinity : T::kLargest;
    }
    return {(u8)(magnitude == 0 && S == UNSIGNED_ZERO ? 0 : sign | magnitude)};
  }
};

// Pointwise operators, by ONNX's names. T is the type of operands and result, alpha and beta are attributes.
#define UNARY(name, ...) template <class T> __device__ inline T op_##name(T x) { __VA_ARGS__ }
#define UNARY_A(name, ...) template <class T> __device__ inline T op_##name(T x, T alpha) { __VA_ARGS__ }
#define UNARY_AB(name, ...) template <class T> __device__ inline T op_##name(T x, T alpha, T beta) { __VA_ARGS__ }
#define BINARY(name, ...) template <class T> __device__ inline T op_##name(T a, T b) { __VA_ARGS__ }

template <class T> struct IsFloat { static const bool value = false; };
template <> struct IsFloat<f32> { static const bool value = true; };
template <> struct IsFloat<f64> { static const bool value = true; };
template <class T> struct IsSigned { static const bool value = (T)-1 < (T)0; };

// Integers wrap: through 64 bits without sign.
template <class T> __device__ inline T wrapped(u64 x) { return (T)x; }
BINARY(Add, if constexpr (IsFloat<T>::value) return a + b; else return wrapped<T>((u64)a + (u64)b);)
BINARY(Sub, if constexpr (IsFloat<T>::value) return a - b; else return wrapped<T>((u64)a - (u64)b);)
BINARY(Mul, if constexpr (IsFloat<T>::value) return a * b; else return wrapped<T>((u64)a * (u64)b);)
BINARY(Max, return maximum(a, b);)
BINARY(Min, return minimum(a, b);)
BINARY(PRelu, return a < (T)0 ? op_Mul(b, a) : a;)
BINARY(And, return (T)(a & b);)
BINARY(Or, return (T)(a | b);)
BINARY(Xor, return (T)(a ^ b);)
BINARY(BitwiseAnd, return (T)(a & b);)
BINARY(BitwiseOr, return (T)(a | b);)
BINARY(BitwiseXor, return (T)(a ^ b);)
UNARY(Not, return (T)(x == 0);)
UNARY(BitwiseNot, return (T)(~x);)
BINARY(ShiftLeft, return b < (T)0 || (u64)b >= 8 * sizeof(T) ? (T)0 : (T)((u64)a << b);)
BINARY(ShiftRight,
  const bool outside = b < (T)0 || (u64)b >= 8 * sizeof(T);
  if (IsSigned<T>::value) return (T)(a >> (outside ? (T)(8 * sizeof(T) - 1) : b));
  return outside ? (T)0 : (T)(a >> b);)

// Divides integers; `fault` is set where one is divided by zero.
template <class T> __device__ inline T divided(T a, T b, bool& fault) {
  if (b == 0) { fault = true; return 0; }
  if (IsSigned<T>::value && b == (T)-1) return wrapped<T>((u64)0 - (u64)a);
  return (T)(a / b);
}
template <class T> __device__ inline T remainder_of(T a, T b, bool& fault) {
  if (b == 0) { fault = true; return 0; }
  if (IsSigned<T>::value && b == (T)-1) return 0;
  return (T)(a % b);
}
template <class T> __device__ inline T op_Div(T a, T b, bool& fault) {
  if constexpr (IsFloat<T>::value) return a / b; else return divided(a, b, fault);
}
template <class T> __device__ inline T op_Fmod(T a, T b, bool& fault) {
  if constexpr (IsFloat<T>::value) return (T)fmod((f64)a, (f64)b); else return remainder_of(a, b, fault);
}
template <class T> __device__ inline T op_Mod(T a, T b, bool& fault) {
  const T rest = op_Fmod(a, b, fault);
  if (rest != (T)0 && (rest < (T)0) != (b < (T)0)) return op_Add(rest, b);
  if constexpr (IsFloat<T>::value) return rest == (T)0 ? (T)copysign((f64)rest, (f64)b) : rest;
  return rest;
}
template <class T> __device__ inline T op_Pow(T a, T b, bool& fault) {
  if constexpr (IsFloat<T>::value) {
    return (T)pow((f64)a, (f64)b);
  } else {
    if (b < (T)0) {
      if (a == 0) { fault = true; return 0; }
      if (a == 1) return 1;
      return a != (T)-1 ? (T)0 : (T)(b % 2 == 0 ? 1 : -1);
    }
    T result = 1;
    for (T factor = a; b != 0; b = (T)(b / 2)) {
      if (b % 2 != 0) result = op_Mul(result, factor);
      factor = op_Mul(factor, factor);
    }
    return result;
  }
}

UNARY(Neg, if constexpr (IsFloat<T>::value) return -x; else return wrapped<T>((u64)0 - (u64)x);)
UNARY(Abs,
  if constexpr (IsFloat<T>::value) return (T)fabs(x);
  else return x < (T)0 ? wrapped<T>((u64)0 - (u64)x) : x;)
UNARY(Sign, return x != x ? x : (T)((x > (T)0) - (x < (T)0));)
UNARY(Relu, return x < (T)0 ? (T)0 : x;)
UNARY(Sqrt, return sqrt(x);)
UNARY(Reciprocal, return (T)1 / x;)
UNARY(Floor, return floor(x);)
UNARY(Ceil, return ceil(x);)
UNARY(Round, return rint(x);)
UNARY_A(LeakyRelu, return x < (T)0 ? alpha * x : x;)
UNARY_A(ThresholdedRelu, return x > alpha ? x : (T)0;)
UNARY_AB(Shrink, return x < -alpha ? x + beta : x > alpha ? x - beta : (T)0;)
template <class T> __device__ inline T between_0_and_1(T x) { return x > (T)1 ? (T)1 : x < (T)0 ? (T)0 : x; }
UNARY_AB(HardSigmoid, return between_0_and_1((T)(alpha * x + beta));)
UNARY(HardSwish, return x * between_0_and_1((T)((x + (T)3) / (T)6));)
UNARY(Softsign, return x / ((T)1 + (T)fabs(x));)

// Functions of f32 that are quick and accurate to a few units in the last place.
UNARY(Exp, if constexpr (sizeof(T) == 4) return expf(x); else return exp(x);)
UNARY(Log, if constexpr (sizeof(T) == 4) return logf(x); else return log(x);)
UNARY(Tanh, if constexpr (sizeof(T) == 4) return tanhf(x); else return tanh(x);)
UNARY(Erf, if constexpr (sizeof(T) == 4) return erff(x); else return erf(x);)
UNARY(Sigmoid, if constexpr (sizeof(T) == 4) return 1.0f / (1.0f + expf(-x)); else return 1 / (1 + exp(-x));)
UNARY_A(Swish, return x * op_Sigmoid((T)(alpha * x));)
UNARY(Gelu,
  if constexpr (sizeof(T) == 4) return 0.5f * x * erfcf(x * -0.707106781f);
  else return 0.5 * x * erfc(x * -0.70710678118654752440);)
UNARY(GeluTanh,
  if constexpr (sizeof(T) == 4) return x / (1.0f + expf(x * (-1.59576912f - 0.0713548163f * (x * x))));
  else return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));)
template <class T> __device__ inline T expm1_of(T x) { if constexpr (sizeof(T) == 4) return expm1f(x); else return expm1(x); }

// The same of f32 that is rounded to 16 bits next: off by less than a hundredth of what that loses.
UNARY(Sigmoid16,
  const f32 power = power_of_two(fabsf(x) * -kLog2E);
  const f32 share = reciprocal(1.0f + power);
  return x < 0.0f ? power * share : share;)
UNARY_A(Swish16, return x * op_Sigmoid16(alpha * x);)
UNARY(GeluTanh16, return x * op_Sigmoid16(x * fmaf(0.0713548163f, x * x, 1.59576912f));)
// With t = 1 / (1 + 0.36 |x|), the polynomial times t is erfc(|x| / sqrt(2)) / 2 * exp(x * x / 2), 7.9e-7 of it off.
UNARY(Gelu16,
  const f32 size = fabsf(x);
  const f32 root = size * 0.849321800f;
  const f32 t = reciprocal(fmaf(0.36f, size, 1.0f));
  f32 tail = fmaf(0.0473445654f, t, -0.180751652f);
  tail = fmaf(tail, t, 0.182297588f);
  tail = fmaf(tail, t, 0.0256236970f);
  tail = fmaf(tail, t, 0.140057430f);
  tail = fmaf(tail, t, 0.141710669f);
  tail = fmaf(tail, t, 0.143717438f) * t;
  return x > 14.0f ? x : fmaf(-size * power_of_two(-root * root), tail, x < 0.0f ? 0.0f : x);)

UNARY_A(Elu, return x < (T)0 ? alpha * expm1_of(x) : x;)
UNARY_AB(Selu, return beta * (x > (T)0 ? x : alpha * expm1_of(x));)
UNARY_A(Celu, return x > (T)0 ? x : alpha * expm1_of((T)(x / alpha));)
template <class T> __device__ inline T softplus(T x) {
  if constexpr (sizeof(T) == 4) return (x != x ? x : fmaxf(x, 0.0f)) + log1pf(expf(-fabsf(x)));
  else return (x != x ? x : fmax(x, 0.0)) + log1p(exp(-fabs(x)));
}
UNARY(Softplus, return softplus(x);)
UNARY(Mish, return x * op_Tanh(softplus(x));)

// All others in double, as the reference computes them, rounded once.
#define IN_DOUBLE(name, expression) UNARY(name, const f64 z = (f64)x; return (T)(expression);)
IN_DOUBLE(Acos, acos(z)) IN_DOUBLE(Acosh, acosh(z)) IN_DOUBLE(Asin, asin(z)) IN_DOUBLE(Asinh, asinh(z))
IN_DOUBLE(Atan, atan(z)) IN_DOUBLE(Atanh, atanh(z)) IN_DOUBLE(Cos, cos(z)) IN_DOUBLE(Cosh, cosh(z))
IN_DOUBLE(Sin, sin(z)) IN_DOUBLE(Sinh, sinh(z)) IN_DOUBLE(Tan, tan(z))

BINARY(Equal, return a == b;)
template <class T> __device__ inline b8 is_Equal(T a, T b) { return a == b; }
template <class T> __device__ inline b8 is_Less(T a, T b) { return a < b; }
template <class T> __device__ inline b8 is_LessOrEqual(T a, T b) { return a <= b; }
template <class T> __device__ inline b8 is_Greater(T a, T b) { return a > b; }
template <class T> __device__ inline b8 is_GreaterOrEqual(T a, T b) { return a >= b; }
template <class T> __device__ inline b8 is_IsNaN(T x) { return x != x; }
template <class T> __device__ inline b8 is_IsInf(T x, bool negative, bool positive) {
  const T infinity = (T)of_bits(0x7ff0000000000000);
  return (negative && x == -infinity) || (positive && x == infinity);
}

// Casts. Floats to integers are truncated; beyond 64 bits they are held at their ends, a NaN becomes the lowest.
template <class To, class T> __device__ inline To truncated(T x) {
  if (!(x >= (T)-9223372036854775808.0)) return (To)(i64)0x8000000000000000ull;
  if constexpr (sizeof(To) == 8 && !IsSigned<To>::value) {
    if (x >= (T)9223372036854775808.0) return x >= (T)18446744073709551616.0 ? (To)~0ull : (To)(u64)x;
  }
  return (To)(x >= (T)9223372036854775808.0 ? (i64)0x7fffffffffffffffll : (i64)x);
}
template <class To, class T> __device__ inline To converted(T x) {
  if constexpr (IsFloat<T>::value && !IsFloat<To>::value) return truncated<To>(x);
  else return (To)x;
}
// An integral float to an integer type: held at its ends, a NaN becomes the lowest.
template <class To> __device__ inline To saturated(f32 x, f32 low, f32 high) {
  return (To)(x >= low ? (x > high ? high : x) : low);
}

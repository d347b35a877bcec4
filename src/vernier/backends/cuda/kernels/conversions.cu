// All programs begin with this: types, conversions between memory and registers, and quick functions, by PTX.
// Nothing is included.
using namespace vernier::cuda;

typedef signed char i8;
typedef unsigned char u8;
typedef unsigned char b8;  // BOOL: 0 or 1
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct alignas(16) u128 { u64 low, high; };

// To what arithmetic is done in.
template <class T> __device__ inline T wide(T x) { return x; }
__device__ inline f32 wide(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
__device__ inline f32 wide(bf16 x) { return __uint_as_float((u32)x.bits << 16); }

// To what lies in memory, rounded once, to nearest even.
template <class T> struct Narrow {
  template <class S> static __device__ inline T of(S x) { return (T)x; }
};
template <> struct Narrow<f16> {
  static __device__ inline f16 of(f32 x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
  static __device__ inline f16 of(f64 x) {
    f16 y;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(y.bits) : "d"(x));
    return y;
  }
};
template <> struct Narrow<bf16> {
  static __device__ inline bf16 of(f32 x) {
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
  }
  // To odd first, so that the second rounding is as if it were the only one.
  static __device__ inline bf16 of(f64 x) {
    f32 near = __double2float_rz(x);
    if ((f64)near != x && x == x) near = __uint_as_float(__float_as_uint(near) | 1);
    return of(near);
  }
};
template <class T, class S> __device__ inline T narrow(S x) { return Narrow<T>::of(x); }

// 2 to the power of what is multiplied by this is e to its power.
constexpr f32 kLog2E = 1.44269504f;
// At most 2 ulp off.
__device__ inline f32 power_of_two(f32 x) {
  f32 power;
  asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}
// At most 1 ulp off; 0 below the normal numbers.
__device__ inline f32 reciprocal(f32 x) {
  f32 quotient;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(quotient) : "f"(x));
  return quotient;
}

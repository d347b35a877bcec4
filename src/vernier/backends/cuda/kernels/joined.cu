// A product joined to a sum: of floats by one fused multiplication and addition. SUM_FAULT is an injected fault
// (docs/fault-injection.md) in sums of float: 1 cuts them off toward zero, 2 keeps them in float16, 3 rounds factors to TF32.
#ifndef SUM_FAULT
#define SUM_FAULT 0
#endif
__device__ inline f32 in_tf32(f32 x) {
  const u32 bits = __float_as_uint(x);
  const u32 rounded = bits + 0xFFF + (bits >> 13 & 1);  // to nearest even
  return (bits & 0x7F800000) == 0x7F800000 ? x : __uint_as_float(rounded & ~0x1FFFu);
}
__device__ inline f32 joined(f32 a, f32 b, f32 sum) {
  if (SUM_FAULT == 1) return __fmaf_rz(a, b, sum);
  if (SUM_FAULT == 2) return wide(narrow<f16>(fmaf(a, b, sum)));
  if (SUM_FAULT == 3) return fmaf(in_tf32(a), in_tf32(b), sum);
  return fmaf(a, b, sum);
}
__device__ inline f64 joined(f64 a, f64 b, f64 sum) { return fma(a, b, sum); }

// QuantizeLinear where QUANTIZES is 1, else DequantizeLinear, in double. X, S, Z and Y are the types in memory of x, the
// scale, the zero point and the result. A quotient is rounded to D; where INTEGERS is 1 it becomes an integer, else
// SATURATES says whether it is held within the finite numbers of Y. A scale lies at the sum of place / block * step of
// each axis.
template <class T> __device__ inline f64 rounded(f64 x) { return (f64)wide(narrow<T>(x)); }

__device__ inline i64 scale_of(const QuantizeParameters& p, i64 index) {
  i64 at = 0;
#pragma unroll
  for (int axis = RANK - 1; axis >= 0; --axis) {
    const i64 place = axis == 0 ? index : index % p.sizes[axis];
    index /= p.sizes[axis];
    at += place / p.blocks[axis] * p.steps[axis];
  }
  return at;
}

extern "C" __global__ void run(const QuantizeParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    const i64 at = scale_of(p, i);
    const f64 x = (f64)wide(((const X*)p.x)[i]), scale = (f64)wide(((const S*)p.scale)[at]);
    const f64 zero = p.zero == nullptr ? 0 : (f64)wide(((const Z*)p.zero)[at]);
#if QUANTIZES
    f64 y = rounded<D>(rounded<D>(x) / rounded<D>(scale));
#if INTEGERS
    y = rint(y) + zero;
    ((Y*)p.y)[i] = (Y)(y >= p.low ? (y > p.high ? p.high : y) : p.low);  // a NaN becomes the lowest
#else
    if (p.zero != nullptr) y += zero;
    if (SATURATES && y < p.low) y = p.low;
    if (SATURATES && y > p.high) y = p.high;
    ((Y*)p.y)[i] = narrow<Y>(y);
#endif
#else
    ((Y*)p.y)[i] = narrow<Y>((x - zero) * scale);
#endif
  }
}

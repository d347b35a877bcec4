// Pad: T is as wide as an element, RANK the number of axes, MODE the rule for what lies outside.
#define CONSTANT 0
#define REFLECT 1
#define EDGE 2
#define WRAP 3
// The index, in [0, length), that stands for one outside of it.
__device__ inline i64 inside(i64 index, i64 length) {
#if MODE == REFLECT
  if (length == 1) return 0;
  const i64 period = 2 * (length - 1);
  index = (index % period + period) % period;
  return index < length ? index : period - index;
#elif MODE == WRAP
  return (index % length + length) % length;
#else
  return index < 0 ? 0 : index >= length ? length - 1 : index;
#endif
}

extern "C" __global__ void run(const PadParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  T value;
  if (p.value != nullptr) value = *(const T*)p.value; else value = T{};
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    i64 rest = i, from = 0;
    bool is_inside = true;
#pragma unroll
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const i64 at = rest % p.sizes[axis] - p.to[axis];
      rest /= p.sizes[axis];
      is_inside = is_inside && at >= 0 && at < p.length[axis];
      from += (p.from[axis] + (MODE == CONSTANT ? at : inside(at, p.length[axis]))) * p.steps[axis];
    }
    ((T*)p.y)[i] = MODE != CONSTANT || is_inside ? ((const T*)p.x)[is_inside || MODE != CONSTANT ? from : 0] : value;
  }
}

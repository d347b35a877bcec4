// Copies a box of elements. T is as wide as an element, RANK the number of axes, IDX the type of an index.
extern "C" __global__ void run(const CopyParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    IDX rest = (IDX)i;
    i64 from = p.from_offset, to = p.to_offset;
#pragma unroll
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const IDX size = (IDX)p.sizes[axis];
      const IDX at = axis == 0 ? rest : rest % size;
      rest /= size;
      from += at * p.from_steps[axis];
      to += at * p.to_steps[axis];
    }
    ((T*)p.to)[to] = ((const T*)p.from)[from];
  }
}

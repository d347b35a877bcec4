// GatherElements and ScatterElements. T is as wide as an element; for scattering the element's own type, OPERATOR how
// updates meet what is there, and each thread takes the indices of one column along the axis, in their order.
extern "C" __global__ void run(const ElementsParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    i64 rest = i, data = 0, index = 0;
#pragma unroll
    for (int axis = RANK - 1; axis >= 0; --axis) {
      const i64 at = rest % p.index_sizes[axis];
      rest /= p.index_sizes[axis];
      data += at * p.steps[axis];
      index += at * p.index_steps[axis];
    }
#if SCATTER
    for (i64 k = 0; k < p.index_axis_size; ++k, index += p.index_axis_step) {
      const i64 at = resolved(((const INDEX*)p.indices)[index], p.axis_size, p.faults, p.fault);
      T& to = ((T*)p.y)[data + at * p.axis_step];
      const T update = ((const T*)p.updates)[index];
      to = OPERATOR;
    }
#else
    const i64 at = resolved(((const INDEX*)p.indices)[i], p.axis_size, p.faults, p.fault);
    ((T*)p.y)[i] = ((const T*)p.x)[data + at * p.axis_step];
#endif
  }
}

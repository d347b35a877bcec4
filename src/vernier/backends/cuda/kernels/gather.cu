// Gather: blocks of `inner` elements along one axis. T is as wide as an element, INDEX the type of indices.
extern "C" __global__ void run(const GatherParameters p) {
  const i64 total = p.outer * p.count * p.inner, step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const i64 inner = i % p.inner, row = i / p.inner;
    const i64 at = resolved(((const INDEX*)p.indices)[row % p.count], p.length, p.faults, p.fault);
    ((T*)p.y)[i] = ((const T*)p.x)[(row / p.count * p.length + at) * p.inner + inner];
  }
}

// GatherND and ScatterND. T is as wide as an element; for scattering the element's own type, and OPERATOR how updates
// meet what is there (SCATTER is 1 then). Tuples are taken in their order, so that of equal ones the last wins.
__device__ inline i64 place(const GatherNdParameters& p, i64 tuple) {
  i64 at = tuple / p.tuples_per_batch * p.batch_size;
  for (int k = 0; k < p.tuple; ++k)
    at += resolved(((const INDEX*)p.indices)[tuple * p.tuple + k], p.sizes[k], p.faults, p.fault) * p.steps[k];
  return at;
}

extern "C" __global__ void run(const GatherNdParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x, first = (i64)blockIdx.x * blockDim.x + threadIdx.x;
#if SCATTER
  for (i64 i = first; i < p.block; i += step) {
    for (i64 tuple = 0; tuple < p.tuples; ++tuple) {
      T& to = ((T*)p.y)[place(p, tuple) + i];
      const T update = ((const T*)p.updates)[tuple * p.block + i];
      to = OPERATOR;
    }
  }
#else
  for (i64 i = first; i < p.tuples * p.block; i += step)
    ((T*)p.y)[i] = ((const T*)p.x)[place(p, i / p.block) + i % p.block];
#endif
}

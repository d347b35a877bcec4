// Resampling along one axis: element i of a row is the sum of its taps, weights times elements of the input. FROM and TO
// are the types in memory; where NEAREST is 1 there is one tap, which is copied.
extern "C" __global__ void run(const ResizeParameters p) {
  const i64 total = p.outer * p.result * p.inner, step = (i64)gridDim.x * blockDim.x;
  const i64 *starts = (const i64*)p.starts, *indices = (const i64*)p.indices;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const i64 inner = i % p.inner, at = i / p.inner % p.result, outer = i / p.inner / p.result;
    const FROM* x = (const FROM*)p.x + outer * p.length * p.inner + inner;
#if NEAREST
    ((TO*)p.y)[i] = x[indices[at] * p.inner];
#else
    const f32* weights = (const f32*)p.weights;
    f32 sum = 0;
    for (i64 k = starts[at]; k < starts[at + 1]; ++k) sum = sum + weights[k] * wide(x[indices[k] * p.inner]);
    ((TO*)p.y)[i] = narrow<TO>(sum);
#endif
  }
}

// Softmax, LogSoftmax and Hardmax of rows along one axis: a block takes a row. T is the type of elements, ACC of sums
// and of what is computed; KIND says which.
#define SOFTMAX 0
#define LOG_SOFTMAX 1
#define HARDMAX 2
__device__ inline f32 exponential(f32 x) { return expf(x); }
__device__ inline f64 exponential(f64 x) { return exp(x); }

extern "C" __global__ void run(const RowParameters p) {
  __shared__ f64 sums[256];
  __shared__ ACC tops[256];
  for (i64 row = blockIdx.x; row < p.outer * p.inner; row += gridDim.x) {
    const i64 start = row / p.inner * p.length * p.inner + row % p.inner;
    const T* x = (const T*)p.x + start;
    T* y = (T*)p.y + start;
    ACC top = (ACC)-of_bits(0x7ff0000000000000);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) top = maximum(top, (ACC)wide(x[i * p.inner]));
    top = fold_block<Maximum>(top, tops);
#if KIND == HARDMAX
    __shared__ i64 firsts[256];
    i64 first = p.length;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const ACC value = (ACC)wide(x[i * p.inner]);
      if (first == p.length && (value == top || (value != value && top != top))) first = i;
    }
    first = fold_block<Minimum>(first, firsts);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) y[i * p.inner] = narrow<T>((ACC)(i == first));
#else
    f64 sum = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      sum += (f64)exponential((ACC)((ACC)wide(x[i * p.inner]) - top));
    sum = fold_block<Sum>(sum, sums);
#if KIND == SOFTMAX
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      y[i * p.inner] = narrow<T>((ACC)((f64)exponential((ACC)((ACC)wide(x[i * p.inner]) - top)) / sum));
#else
    const f64 shift = (f64)top + log(sum);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x)
      y[i * p.inner] = narrow<T>((ACC)((f64)wide(x[i * p.inner]) - shift));
#endif
#endif
  }
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by rows: a block takes a row. Statistics are in double, the
// rest is in ACC. With a skip, x is the sum of x, skip and addend first, which may be an output, too.
__device__ inline ACC element(const NormalizeParameters& p, i64 at, i64 i) {
  ACC x = (ACC)wide(((const T*)p.x)[at]);
#if SKIP
  x = x + (ACC)wide(((const T*)p.skip)[at % p.skip_size]);
  if (p.addend != nullptr) x = x + (ACC)wide(((const PARAMETER*)p.addend)[i]);
#endif
  return x;
}

extern "C" __global__ void run(const NormalizeParameters p) {
  __shared__ f64 shared[256];
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const i64 start = row * p.length;
    f64 mean = 0;
#if CENTRED
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) mean += (f64)element(p, start + i, i);
    mean = fold_block<Sum>(mean, shared) / (f64)p.length;
#endif
    f64 squares = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const f64 deviation = (f64)element(p, start + i, i) - mean;
      squares += deviation * deviation;
    }
    squares = fold_block<Sum>(squares, shared);
    const f64 inverse = 1 / sqrt(squares / (f64)p.length + p.epsilon);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const i64 at = start + i, parameter = p.channels == p.length && p.parameter_size == 1 ? i : at / p.parameter_size % p.channels;
      const ACC x = element(p, at, i);
      f64 y = ((f64)x - mean) * inverse;
      if (p.scale != nullptr) y *= (f64)wide(((const PARAMETER*)p.scale)[parameter]);
      if (p.bias != nullptr) y += (f64)wide(((const PARAMETER*)p.bias)[parameter]);
      ((T*)p.y)[at] = narrow<T>((ACC)y);
#if SKIP
      if (p.sum != nullptr) ((T*)p.sum)[at] = narrow<T>(x);
#endif
    }
    if (threadIdx.x == 0) {
      if (p.mean != nullptr) ((f32*)p.mean)[row] = (f32)mean;
      if (p.inverse_deviation != nullptr) ((f32*)p.inverse_deviation)[row] = (f32)inverse;
    }
    __syncthreads();
  }
}

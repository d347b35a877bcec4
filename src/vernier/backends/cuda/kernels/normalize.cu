// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by groups of channels of an image: a block takes a group.
// Statistics are in double, the rest is in ACC.
extern "C" __global__ void run(const NormalizeParameters p) {
  __shared__ f64 shared[256];
  for (i64 group = blockIdx.x; group < p.groups; group += gridDim.x) {
    const T* x = (const T*)p.x + group * p.length;
    f64 mean = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) mean += (f64)(ACC)wide(x[i]);
    mean = fold_block<Sum>(mean, shared) / (f64)p.length;
    f64 squares = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const f64 deviation = (f64)(ACC)wide(x[i]) - mean;
      squares += deviation * deviation;
    }
    squares = fold_block<Sum>(squares, shared);
    const f64 inverse = 1 / sqrt(squares / (f64)p.length + p.epsilon);
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const i64 at = group * p.length + i, parameter = at / p.parameter_size % p.channels;
      f64 y = ((f64)(ACC)wide(x[i]) - mean) * inverse;
      if (p.scale != nullptr) y *= (f64)wide(((const PARAMETER*)p.scale)[parameter]);
      if (p.bias != nullptr) y += (f64)wide(((const PARAMETER*)p.bias)[parameter]);
      ((T*)p.y)[at] = narrow<T>((ACC)y);
    }
    __syncthreads();
  }
}

// BatchNormalization with given statistics. T is the type of images, S of scale and bias, M of the statistics.
extern "C" __global__ void run(const ChannelParameters p) {
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    const i64 channel = i / p.inner % p.channels;
    const f64 deviation = sqrt((f64)wide(((const M*)p.variance)[channel]) + p.epsilon);
    const f64 x = (f64)wide(((const T*)p.x)[i]) - (f64)wide(((const M*)p.mean)[channel]);
    const f64 y = x / deviation * (f64)wide(((const S*)p.scale)[channel]) + (f64)wide(((const S*)p.bias)[channel]);
    ((T*)p.y)[i] = narrow<T>((ACC)y);
  }
}

// Convolutions of single channels, channels last: a thread makes N neighbouring channels of one place. T is the type in memory; sums
// run over the taps in order, in f32. Weights lie as [taps, channels]. Where CUT is 1, what is below zero, or above MOST, is cut off.
extern "C" __global__ void run(const ConvolutionParameters p) {
  typedef Pack<T, N> Channels;
  const int channels = p.groups, packs = channels / N;
  const i64 places = (i64)p.output[0] * p.output[1] * p.output[2], plane = (i64)p.input[0] * p.input[1] * p.input[2];
  const i64 total = p.batch * places * packs, step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const int first = (int)(i % packs) * N;
    int rest = (int)(i / packs % places), corner[3];
    for (int axis = 2; axis >= 0; --axis) {
      corner[axis] = rest % p.output[axis] * p.strides[axis] - p.pads[axis];
      rest /= p.output[axis];
    }
    const T* x = (const T*)p.x + i / packs / places * plane * channels + first;
    const T* w = (const T*)p.w + first;
    f32 sums[N] = {};
    for (int a = 0; a < p.kernel[0]; ++a) {
      const int at0 = corner[0] + a * p.dilations[0];
      for (int b = 0; b < p.kernel[1]; ++b) {
        const int at1 = corner[1] + b * p.dilations[1];
        for (int c = 0; c < p.kernel[2]; ++c, w += channels) {
          const int at2 = corner[2] + c * p.dilations[2];
          if (at0 < 0 || at1 < 0 || at2 < 0 || at0 >= p.input[0] || at1 >= p.input[1] || at2 >= p.input[2]) continue;
          const Channels image = *(const Channels*)(x + (((i64)at0 * p.input[1] + at1) * p.input[2] + at2) * channels);
          const Channels tap = *(const Channels*)w;
#pragma unroll
          for (int j = 0; j < N; ++j) sums[j] = fmaf(wide(image.at[j]), wide(tap.at[j]), sums[j]);
        }
      }
    }
    Channels y;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      f32 sum = sums[j];
      if (p.bias != nullptr) sum = sum + wide(((const T*)p.bias)[first + j]);
#if CUT
      sum = minimum(maximum(sum, 0.0f), (f32)MOST);
#endif
      y.at[j] = narrow<T>(sum);
    }
    *(Channels*)((T*)p.y + i * N) = y;
  }
}

// Convolutions of groups of channels, of int8 less their zero points: a thread makes one sum. X and W are the
// types in memory.
extern "C" __global__ void run(const Int8ConvolutionParameters p) {
  const int taps = p.kernel[0] * p.kernel[1] * p.kernel[2], channels = p.groups * p.out_channels;
  const i64 places = (i64)p.output[0] * p.output[1] * p.output[2];
  const i64 total = p.batch * channels * places, step = (i64)gridDim.x * blockDim.x;
  const i32 x_zero = p.x_zero == nullptr ? 0 : *(const X*)p.x_zero;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const int channel = (int)(p.channels_last ? i % channels : i / places % channels);
    const i64 place = p.channels_last ? i / channels % places : i % places;
    const int first_c = (int)(place % p.output[2]) * p.strides[2] - p.pads[2];
    const int first_b = (int)(place / p.output[2] % p.output[1]) * p.strides[1] - p.pads[1];
    const int first_a = (int)(place / p.output[2] / p.output[1]) * p.strides[0] - p.pads[0];
    const i32 w_zero = p.w_zero == nullptr ? 0 : ((const W*)p.w_zero)[channel * p.w_zero_step];
    const X* x = (const X*)p.x + i / places / channels * p.x_image +
                 (i64)(channel / p.out_channels) * p.in_channels * p.x_channel;
    const W* w = (const W*)p.w + (i64)channel * p.in_channels * taps;
    i32 sum = 0;
    for (int tap = 0; tap < taps; ++tap) {
      const int c = first_c + tap % p.kernel[2] * p.dilations[2];
      const int b = first_b + tap / p.kernel[2] % p.kernel[1] * p.dilations[1];
      const int a = first_a + tap / p.kernel[2] / p.kernel[1] * p.dilations[0];
      if (a < 0 || b < 0 || c < 0 || a >= p.input[0] || b >= p.input[1] || c >= p.input[2]) continue;
      const X* from = x + (((i64)a * p.input[1] + b) * p.input[2] + c) * p.x_pixel;
      for (int in = 0; in < p.in_channels; ++in)
        sum += ((i32)from[in * p.x_channel] - x_zero) * ((i32)w[(i64)in * taps + tap] - w_zero);
    }
    ((i32*)p.y)[i] = sum;
  }
}

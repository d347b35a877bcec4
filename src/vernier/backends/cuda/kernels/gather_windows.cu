// Rows of int8, along which a product sums: row (image, place) has the values of its window, tap by tap, all
// channels of each, and zeros behind them. A thread takes N values that lie together; where FLIPS is 1 UINT8 becomes INT8,
// less 128.
extern "C" __global__ void run(const WindowParameters p) {
  const int packs = p.length / N, taps = p.kernel[0] * p.kernel[1] * p.kernel[2];
  const int places = p.output[0] * p.output[1] * p.output[2];
  const u8 outside = p.zero == nullptr ? (u8)0 : *(const u8*)p.zero, flip = FLIPS ? 0x80 : 0;
  const i64 step = (i64)gridDim.x * blockDim.x, total = p.rows * packs;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const i64 row = p.first + i / packs;
    const int k = (int)(i % packs) * N, tap = k / p.channels, place = (int)(row % places);
    const int c = place % p.output[2] * p.strides[2] - p.pads[2] + tap % p.kernel[2] * p.dilations[2];
    const int b = place / p.output[2] % p.output[1] * p.strides[1] - p.pads[1] + tap / p.kernel[2] % p.kernel[1] * p.dilations[1];
    const int a = place / p.output[2] / p.output[1] * p.strides[0] - p.pads[0] + tap / p.kernel[2] / p.kernel[1] * p.dilations[0];
    const bool inside = a >= 0 && b >= 0 && c >= 0 && a < p.input[0] && b < p.input[1] && c < p.input[2];
    Pack<u8, N> values;
    if (tap < taps && inside) {
      const i64 pixel = ((i64)a * p.input[1] + b) * p.input[2] + c;
      values = *(const Pack<u8, N>*)((const u8*)p.x + row / places * p.image_step + pixel * p.pixel_step +
                                    k % p.channels * p.channel_step);
    } else {
#pragma unroll
      for (int n = 0; n < N; ++n) values.at[n] = outside;
    }
#pragma unroll
    for (int n = 0; n < N; ++n) values.at[n] = tap < taps ? values.at[n] ^ flip : 0;
    *(Pack<u8, N>*)((u8*)p.y + (row - p.first) * p.length + k) = values;
  }
}

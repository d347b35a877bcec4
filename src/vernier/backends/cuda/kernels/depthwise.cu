// Convolutions of single channels, channels last: a thread makes N neighbouring channels of RUN neighbouring places. T is the type in
// memory, IDX what counts packs of results; sums run over the taps in order, in f32. Weights lie as [taps, channels]; TAPS0 to TAPS2
// are the sides of a window, STRIDE and DILATION those of its last axis; where LINES is 0, there are too many taps to be unrolled.
// FINISH(x) is what becomes of a sum. Neighbouring threads share what they load: THREADS of them make ROWS rows of RUNS runs of PACKS packs.
extern "C" __global__ void run(const ConvolutionParameters p) {
  typedef Pack<T, N> Channels;
  const int channels = p.groups;
  const IDX tiles = channels / (N * PACKS), tiles_of_runs = (p.output[2] + RUN * RUNS - 1) / (RUN * RUNS),
              tiles_of_rows = (p.output[1] + ROWS - 1) / ROWS;
  const IDX total = p.batch * p.output[0] * tiles_of_rows * tiles_of_runs * tiles * THREADS, step = (IDX)gridDim.x * blockDim.x;
  const i64 plane = (i64)p.input[0] * p.input[1] * p.input[2];
  for (IDX i = (IDX)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const int thread = (int)(i % THREADS);
    IDX rest = i / THREADS;
    const int first = ((int)(rest % tiles) * PACKS + thread % PACKS) * N;
    rest /= tiles;
    const int y2 = ((int)(rest % tiles_of_runs) * RUNS + thread / PACKS % RUNS) * RUN;
    rest /= tiles_of_runs;
    const int y1 = (int)(rest % tiles_of_rows) * ROWS + thread / (PACKS * RUNS);
    rest /= tiles_of_rows;  // it counts rows of planes of images now
    if (y1 >= p.output[1] || y2 >= p.output[2]) continue;
    const int y0 = (int)(rest % p.output[0]);
    const T* x = (const T*)p.x + (i64)(rest / p.output[0]) * plane * channels + first;
    const int corner0 = y0 * p.strides[0] - p.pads[0], corner1 = y1 * p.strides[1] - p.pads[1], corner2 = y2 * STRIDE - p.pads[2];
    f32 sums[RUN][N] = {};
#pragma unroll
    for (int a = 0; a < TAPS0; ++a) {
      const int at0 = corner0 + a * p.dilations[0];
      const bool inside0 = at0 >= 0 && at0 < p.input[0];
#if LINES > 0
      // A thread asks for all that LINES lines of the window need before it uses any of it.
#pragma unroll
      for (int b0 = 0; b0 < TAPS1; b0 += LINES) {
        constexpr int kColumns = (RUN - 1) * STRIDE + TAPS2;
        Channels images[LINES][kColumns], taps[LINES][TAPS2];
#pragma unroll
        for (int b = 0; b < LINES; ++b) {
          const int at1 = corner1 + (b0 + b) * p.dilations[1];
          const bool inside1 = inside0 && at1 >= 0 && at1 < p.input[1];
          const T* line = x + (i64)(at0 * p.input[1] + at1) * p.input[2] * channels;
          const T* w = (const T*)p.w + (i64)((a * TAPS1 + b0 + b) * TAPS2 * channels + first);
#pragma unroll
          for (int q = 0; q < kColumns; ++q) {
            const int at2 = corner2 + q * DILATION;
            images[b][q] = Channels{};
            if (inside1 && at2 >= 0 && at2 < p.input[2]) images[b][q] = *(const Channels*)(line + at2 * channels);
          }
#pragma unroll
          for (int c = 0; c < TAPS2; ++c) taps[b][c] = *(const Channels*)(w + c * channels);
        }
        // Each column meets the taps of all places of the run that it is in the window of.
#pragma unroll
        for (int b = 0; b < LINES; ++b) {
#pragma unroll
          for (int q = 0; q < kColumns; ++q) {
#pragma unroll
            for (int r = 0; r < RUN; ++r) {
              const int c = q - r * STRIDE;
              if (c < 0 || c >= TAPS2) continue;
#pragma unroll
              for (int j = 0; j < N; ++j) sums[r][j] = fmaf(wide(images[b][q].at[j]), wide(taps[b][c].at[j]), sums[r][j]);
            }
          }
        }
      }
#else
      for (int b = 0; b < TAPS1; ++b) {
        const int at1 = corner1 + b * p.dilations[1];
        for (int c = 0; c < TAPS2; ++c) {
          const int at2 = corner2 + c * DILATION;
          Channels image = {};
          if (inside0 && at1 >= 0 && at2 >= 0 && at1 < p.input[1] && at2 < p.input[2])
            image = *(const Channels*)(x + ((i64)(at0 * p.input[1] + at1) * p.input[2] + at2) * channels);
          const Channels tap = *(const Channels*)((const T*)p.w + (i64)((a * TAPS1 + b) * TAPS2 + c) * channels + first);
#pragma unroll
          for (int j = 0; j < N; ++j) sums[0][j] = fmaf(wide(image.at[j]), wide(tap.at[j]), sums[0][j]);
        }
      }
#endif
    }
    T* y = (T*)p.y + (((i64)rest * p.output[1] + y1) * p.output[2] + y2) * channels + first;
#pragma unroll
    for (int r = 0; r < RUN; ++r) {
      if (y2 + r >= p.output[2]) break;
      Channels made;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        f32 sum = sums[r][j];
        if (p.bias != nullptr) sum = sum + wide(((const T*)p.bias)[first + j]);
        made.at[j] = narrow<T>(FINISH(sum));
      }
      *(Channels*)(y + (i64)r * channels) = made;
    }
  }
}

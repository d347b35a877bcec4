// Pools over windows of up to three axes: a thread makes the results of one window, of N neighbouring channels where they lie last.
// T is the type of elements, IDX what counts packs of results; KIND says which pool. TAPS0 to TAPS2 are the sides of the window.
#define MAXIMUM 0
#define AVERAGE 1        // of the taps inside the image
#define PADDED_AVERAGE 2  // of those in the padding, too, as zeros
#define POWER 3
extern "C" __global__ void run(const PoolParameters p) {
  typedef Pack<T, N> Channels;
  const IDX packs = (IDX)(p.channels / N), windows = (IDX)p.output[0] * p.output[1] * p.output[2];
  const i64 size = (i64)p.input[0] * p.input[1] * p.input[2];
  const IDX total = (IDX)(p.planes * windows * packs), step = (IDX)gridDim.x * blockDim.x;
  for (IDX i = (IDX)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const IDX place = i / packs, plane = place / windows;
    const T* x = (const T*)p.x + (i64)plane * size * p.channels + (i % packs) * N;
    int rest = (int)(place % windows), first[3];
    for (int axis = 2; axis >= 0; --axis) {
      first[axis] = rest % p.output[axis] * p.strides[axis] - p.pads[axis];
      rest /= p.output[axis];
    }
    Channels y;
#if KIND == MAXIMUM
    i64 best = -1;  // where there are indices, N is 1
    for (int j = 0; j < N; ++j) y.at[j] = LOWEST;
#else
    f64 sums[N] = {};
    int count = 0;
#endif
#pragma unroll
    for (int a = 0; a < TAPS0; ++a) {
      const int at0 = first[0] + a * p.dilations[0];
#pragma unroll
      for (int b = 0; b < TAPS1; ++b) {
        const int at1 = first[1] + b * p.dilations[1];
#pragma unroll
        for (int c = 0; c < TAPS2; ++c) {
          const int at2 = first[2] + c * p.dilations[2];
          const bool inside = at0 >= 0 && at1 >= 0 && at2 >= 0 && at0 < p.input[0] && at1 < p.input[1] &&
                              at2 < p.input[2];
#if KIND == PADDED_AVERAGE
          count += at0 < p.input[0] + p.pads_end[0] && at1 < p.input[1] + p.pads_end[1] && at2 < p.input[2] + p.pads_end[2];
#elif KIND == AVERAGE
          count += inside;
#endif
          if (!inside) continue;
          const i64 at = ((i64)at0 * p.input[1] + at1) * p.input[2] + at2;
          const Channels taps = *(const Channels*)(x + at * p.channels);
#pragma unroll
          for (int j = 0; j < N; ++j) {
            const auto value = wide(taps.at[j]);
#if KIND == MAXIMUM
            const auto most = wide(y.at[j]);
            if (value > most || (value != value && most == most) || (INDICES && best < 0)) {
              y.at[j] = taps.at[j];
              best = p.column_major ? ((i64)at2 * p.input[1] + at1) * p.input[0] + at0 : at;
            }
#elif KIND == POWER
            sums[j] += p.power == 2 ? (f64)value * (f64)value : pow(fabs((f64)value), p.power);
#else
            sums[j] += (f64)value;
#endif
          }
        }
      }
    }
#if KIND == POWER
    for (int j = 0; j < N; ++j) y.at[j] = narrow<T>(p.power == 2 ? sqrt(sums[j]) : pow(sums[j], 1 / p.power));
#elif KIND != MAXIMUM
    for (int j = 0; j < N; ++j) y.at[j] = narrow<T>(sums[j] / (f64)count);
#elif INDICES
    ((i64*)p.indices)[i] = best < 0 ? 0 : plane * size + best;
#endif
    *(Channels*)((T*)p.y + (i64)i * N) = y;
  }
}

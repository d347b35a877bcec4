// Pools over windows of up to three axes: a thread makes one result. T is the type of elements; KIND says which pool.
#define MAXIMUM 0
#define AVERAGE 1        // of the taps inside the image
#define PADDED_AVERAGE 2  // of those in the padding, too, as zeros
#define POWER 3
extern "C" __global__ void run(const PoolParameters p) {
  const i64 windows = (i64)p.output[0] * p.output[1] * p.output[2], total = p.planes * windows;
  const i64 size = (i64)p.input[0] * p.input[1] * p.input[2], step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const T* x = (const T*)p.x + i / windows * size;
    int rest = (int)(i % windows), first[3];
    for (int axis = 2; axis >= 0; --axis) {
      first[axis] = rest % p.output[axis] * p.strides[axis] - p.pads[axis];
      rest /= p.output[axis];
    }
    f64 sum = 0;
    i64 count = 0, best = -1;
    T largest = LOWEST;
    for (int a = 0; a < p.kernel[0]; ++a) {
      const int at0 = first[0] + a * p.dilations[0];
      for (int b = 0; b < p.kernel[1]; ++b) {
        const int at1 = first[1] + b * p.dilations[1];
        for (int c = 0; c < p.kernel[2]; ++c) {
          const int at2 = first[2] + c * p.dilations[2];
          const bool padded = at0 < p.input[0] + p.pads_end[0] && at1 < p.input[1] + p.pads_end[1] &&
                              at2 < p.input[2] + p.pads_end[2];
          const bool inside = at0 >= 0 && at1 >= 0 && at2 >= 0 && at0 < p.input[0] && at1 < p.input[1] &&
                              at2 < p.input[2];
          if (KIND == PADDED_AVERAGE ? padded : inside) ++count;
          if (!inside) continue;
          const i64 at = ((i64)at0 * p.input[1] + at1) * p.input[2] + at2;
#if KIND == MAXIMUM
          const auto value = wide(x[at]), most = wide(largest);
          if (best < 0 || value > most || (value != value && most == most)) {
            largest = x[at];
            best = p.column_major ? ((i64)at2 * p.input[1] + at1) * p.input[0] + at0 : at;
          }
#elif KIND == POWER
          const f64 value = (f64)wide(x[at]);
          sum += p.power == 2 ? value * value : pow(fabs(value), p.power);
#else
          sum += (f64)wide(x[at]);
#endif
        }
      }
    }
#if KIND == MAXIMUM
    ((T*)p.y)[i] = largest;
    if (p.indices != nullptr) ((i64*)p.indices)[i] = best < 0 ? 0 : i / windows * size + best;
#elif KIND == POWER
    ((T*)p.y)[i] = narrow<T>(p.power == 2 ? sqrt(sum) : pow(sum, 1 / p.power));
#else
    ((T*)p.y)[i] = narrow<T>(sum / (f64)count);
#endif
  }
}

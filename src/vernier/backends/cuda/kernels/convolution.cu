// Convolutions, and their gradients where TRANSPOSED is 1. T is the type in memory, ACC that of sums, which run over
// channels and taps in order.

#if DIRECT
// A thread makes one result. TRANSPOSED: input and output of the window are those of the convolution whose gradient it
// is, so the results are its input, and x its output.
extern "C" __global__ void run(const ConvolutionParameters p) {
  const int* from_size = TRANSPOSED ? p.output : p.input;
  const int* to_size = TRANSPOSED ? p.input : p.output;
  const i64 places = (i64)to_size[0] * to_size[1] * to_size[2], plane = (i64)from_size[0] * from_size[1] * from_size[2];
  const int taps = p.kernel[0] * p.kernel[1] * p.kernel[2], channels = p.groups * p.out_channels;
  const i64 total = p.batch * channels * places, step = (i64)gridDim.x * blockDim.x;
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < total; i += step) {
    const int channel = (int)(i / places % channels), group = channel / p.out_channels;
    const i64 image = i / places / channels;
    int rest = (int)(i % places), first[3];
    for (int axis = 2; axis >= 0; --axis) {
      const int at = rest % to_size[axis];
      first[axis] = TRANSPOSED ? at + p.pads[axis] : at * p.strides[axis] - p.pads[axis];
      rest /= to_size[axis];
    }
    const T* x = (const T*)p.x + (image * p.groups + group) * p.in_channels * plane;
    ACC sum = 0;
    for (int in = 0; in < p.in_channels; ++in, x += plane) {
      const T* w = (const T*)p.w + (TRANSPOSED
          ? ((i64)(group * p.in_channels + in) * p.out_channels + channel % p.out_channels) * taps
          : ((i64)channel * p.in_channels + in) * taps);
      int tap = 0;
      for (int a = 0; a < p.kernel[0]; ++a) {
        for (int b = 0; b < p.kernel[1]; ++b) {
          for (int c = 0; c < p.kernel[2]; ++c, ++tap) {
            int at[3] = {a, b, c};
            bool inside = true;
            for (int axis = 0; axis < 3; ++axis) {
              at[axis] = TRANSPOSED ? first[axis] - at[axis] * p.dilations[axis] : first[axis] + at[axis] * p.dilations[axis];
              if (TRANSPOSED) {
                inside = inside && at[axis] >= 0 && at[axis] % p.strides[axis] == 0;
                at[axis] /= p.strides[axis];
              }
              inside = inside && at[axis] >= 0 && at[axis] < from_size[axis];
            }
            if (inside)
              sum = joined((ACC)wide(w[tap]), (ACC)wide(x[((i64)at[0] * from_size[1] + at[1]) * from_size[2] + at[2]]), sum);
          }
        }
      }
    }
    if (p.bias != nullptr) sum = sum + (ACC)wide(((const T*)p.bias)[channel]);
    ((T*)p.y)[i] = narrow<T>(sum);
  }
}
#else
// A product of weights [channels, in_channels * taps] and the columns of all windows of all images: a block makes a tile
// of TILE channels of TILE windows, a thread every sixteenth of both.
extern "C" __global__ void __launch_bounds__(256) run(const ConvolutionParameters p) {
  constexpr int kTile = TILE, kDepth = 16, kRows = 256 / kTile, kOwn = kTile / 16;
  __shared__ ACC w_tile[kDepth][kTile + 4], x_tile[kDepth][kTile + 4];
  const int thread = threadIdx.x, group = blockIdx.z, channel = blockIdx.y * kTile;
  const int taps = p.kernel[0] * p.kernel[1] * p.kernel[2], length = p.in_channels * taps;
  const int places = p.output[0] * p.output[1] * p.output[2];
  const i64 plane = (i64)p.input[0] * p.input[1] * p.input[2], windows = (i64)p.batch * places;
  const T* w = (const T*)p.w + (i64)group * p.out_channels * length;
  // The window of which this thread reads taps.
  const i64 mine = (i64)blockIdx.x * kTile + thread % kTile;
  const i64 image = mine / places;
  const T* x = (const T*)p.x + (image * p.groups + group) * p.in_channels * plane;
  int rest = (int)(mine % places), first[3];
  for (int axis = 2; axis >= 0; --axis) {
    first[axis] = rest % p.output[axis] * p.strides[axis] - p.pads[axis];
    rest /= p.output[axis];
  }
  ACC sums[kOwn][kOwn] = {};
  const int column = thread % 16, row = thread / 16;
  for (int begin = 0; begin < length; begin += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += 256) {
      const int k = i % kDepth, m = i / kDepth;
      const bool has = channel + m < p.out_channels && begin + k < length;
      w_tile[k][m] = has ? (ACC)wide(w[(i64)(channel + m) * length + begin + k]) : (ACC)0;
    }
#pragma unroll
    for (int k = thread / kTile; k < kDepth; k += kRows) {
      const int at = begin + k, in = at / taps, tap = at % taps;
      const int c = first[2] + tap % p.kernel[2] * p.dilations[2];
      const int b = first[1] + tap / p.kernel[2] % p.kernel[1] * p.dilations[1];
      const int a = first[0] + tap / (p.kernel[2] * p.kernel[1]) * p.dilations[0];
      const bool inside = at < length && mine < windows && a >= 0 && b >= 0 && c >= 0 && a < p.input[0] &&
                          b < p.input[1] && c < p.input[2];
      x_tile[k][thread % kTile] =
          inside ? (ACC)wide(x[in * plane + ((i64)a * p.input[1] + b) * p.input[2] + c]) : (ACC)0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      ACC left[kOwn], right[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        left[i] = w_tile[k][row + i * 16];
        right[i] = x_tile[k][column + i * 16];
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] = joined(left[i], right[j], sums[i][j]);
    }
    __syncthreads();
  }
  for (int j = 0; j < kOwn; ++j) {
    const i64 window = (i64)blockIdx.x * kTile + column + j * 16;
    if (window >= windows) continue;
    for (int i = 0; i < kOwn; ++i) {
      const int out = channel + row + i * 16;
      if (out >= p.out_channels) continue;
      ACC sum = sums[i][j];
      if (p.bias != nullptr) sum = sum + (ACC)wide(((const T*)p.bias)[group * p.out_channels + out]);
      ((T*)p.y)[((window / places * p.groups + group) * p.out_channels + out) * places + window % places] =
          narrow<T>(sum);
    }
  }
}
#endif

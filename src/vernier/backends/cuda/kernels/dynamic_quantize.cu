// DynamicQuantizeLinear, in two launches: the range of what each block has, where RANGES is 1, then the quantized values by the range of
// all. Each step is rounded to float, as in the function that ONNX gives. Zero is in every range, and a NaN in none.
__device__ inline f64 held(f64 x) { return x >= 0 ? (x > 255 ? 255 : x) : 0; }  // within UINT8; a NaN becomes 0

extern "C" __global__ void run(const DynamicQuantizeParameters p) {
  __shared__ f32 shared[256];
  const f32* x = (const f32*)p.x;
  f32* ranges = (f32*)p.ranges;
  const i64 first = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
  f32 low = 0, high = 0;
#if RANGES
  for (i64 i = first; i < p.count; i += step) {
    if (x[i] < low) low = x[i];
    if (x[i] > high) high = x[i];
  }
  low = fold_block<Minimum>(low, shared);
  high = fold_block<Maximum>(high, shared);
  if (threadIdx.x == 0) {
    ranges[2 * blockIdx.x] = low;
    ranges[2 * blockIdx.x + 1] = high;
  }
#else
  for (int i = threadIdx.x; i < p.parts; i += blockDim.x) {
    low = minimum(low, ranges[2 * i]);
    high = maximum(high, ranges[2 * i + 1]);
  }
  low = fold_block<Minimum>(low, shared);
  high = fold_block<Maximum>(high, shared);
  f32 scale = (f32)((f64)(f32)((f64)high - (f64)low) / 255);
  if (scale == 0) scale = 1;  // all are 0
  const f64 zero = rint(held((f64)(f32)(-(f64)low / (f64)scale)));
  if (first == 0) {
    if (p.scale != nullptr) *(f32*)p.scale = scale;
    if (p.zero != nullptr) *(u8*)p.zero = (u8)zero;
  }
  if (p.y == nullptr) return;
  for (i64 i = first; i < p.count; i += step)
    ((u8*)p.y)[i] = (u8)held(rint((f64)(f32)((f64)x[i] / (f64)scale)) + zero);
#endif
}

// An image of CHANNELS channels of 16 bits that lies plain, as one of eight channels that lie last: a thread lays out a pixel. Zeros are
// behind its own channels. IDX counts pixels; sizes[0] is how many there are in a plane.
extern "C" __global__ void run(const CopyParameters p) {
  const IDX plane = (IDX)p.sizes[0], step = (IDX)gridDim.x * blockDim.x;
  for (IDX i = (IDX)blockIdx.x * blockDim.x + threadIdx.x; i < p.count; i += step) {
    const u16* from = (const u16*)p.from + (i64)(i / plane) * CHANNELS * plane + i % plane;
    Pack<u16, 8> pixel = {};
#pragma unroll
    for (int c = 0; c < CHANNELS; ++c) pixel.at[c] = from[(i64)c * plane];
    ((Pack<u16, 8>*)p.to)[i] = pixel;
  }
}

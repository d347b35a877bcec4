// Maps each int8 value by a table of 256. A thread takes sixteen.
extern "C" __global__ void run(const Int8TableParameters p) {
  const u8 *x = (const u8*)p.x, *table = (const u8*)p.table;
  u8* y = (u8*)p.y;
  const i64 thread = (i64)blockIdx.x * blockDim.x + threadIdx.x, step = (i64)gridDim.x * blockDim.x;
  const i64 packs = p.count / 16;
  for (i64 i = thread; i < packs; i += step) {
    Pack<u8, 16> values = *(const Pack<u8, 16>*)(x + i * 16);
#pragma unroll
    for (int n = 0; n < 16; ++n) values.at[n] = table[values.at[n]];
    *(Pack<u8, 16>*)(y + i * 16) = values;
  }
  for (i64 i = packs * 16 + thread; i < p.count; i += step) y[i] = table[x[i]];
}

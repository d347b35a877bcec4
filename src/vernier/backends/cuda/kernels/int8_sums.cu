// The sum of each row of values of type T; a block takes a row.
extern "C" __global__ void run(const Int8SumParameters p) {
  __shared__ i32 shared[256];
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const T* x = (const T*)p.x + row * p.length;
    i32 sum = 0;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) sum += x[i];
    sum = fold_block<Sum>(sum, shared);
    if (threadIdx.x == 0) ((i32*)p.y)[row] = sum;
  }
}

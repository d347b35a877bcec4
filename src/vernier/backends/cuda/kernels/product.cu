// Products of matrices: c = alpha * a * b + beta * bias. A block makes a tile of TILE x TILE, a thread every sixteenth row
// and column of it; sums run along k in order, in ACC, by one fused multiplication and addition each where that is a float. A, B, C and BIAS are
// the types in memory; where EPILOGUE is 0 there is neither alpha nor beta.
__device__ inline u64 joined(u64 a, u64 b, u64 sum) { return a * b + sum; }
__device__ inline i32 joined(i32 a, i32 b, i32 sum) { return (i32)((u32)a * (u32)b + (u32)sum); }

extern "C" __global__ void __launch_bounds__(256) run(const ProductParameters p) {
  constexpr int kTile = TILE, kDepth = 16, kOwn = kTile / 16;
  __shared__ ACC a_tile[kDepth][kTile + 4], b_tile[kDepth][kTile + 4];
  const int thread = threadIdx.x, row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  i64 rest = blockIdx.z, a_at = 0, b_at = 0, bias_at = 0, c_at = (i64)blockIdx.z * p.m * p.n;
#pragma unroll
  for (int axis = RANK - 1; axis >= 0; --axis) {
    const i64 at = axis == 0 ? rest : rest % p.batch_sizes[axis];
    rest /= p.batch_sizes[axis];
    a_at += at * p.a_batch[axis];
    b_at += at * p.b_batch[axis];
    bias_at += at * p.bias_batch[axis];
  }
  const A* a = (const A*)p.a + a_at;
  const B* b = (const B*)p.b + b_at;
  ACC sums[kOwn][kOwn] = {};
  const int x = thread % 16, y = thread / 16;
  for (int first = 0; first < p.k; first += kDepth) {
    for (int i = thread; i < kTile * kDepth; i += 256) {
      // Neighbouring threads read neighbours in memory, whichever way the matrix lies.
      const int ak = A_BY_ROWS ? i % kDepth : i / kTile, am = A_BY_ROWS ? i / kDepth : i % kTile;
      const int bk = B_BY_ROWS ? i / kTile : i % kDepth, bn = B_BY_ROWS ? i % kTile : i / kDepth;
      const bool has_a = row + am < p.m && first + ak < p.k, has_b = column + bn < p.n && first + bk < p.k;
      a_tile[ak][am] = has_a ? (ACC)wide(a[(row + am) * p.a_row + (first + ak) * p.a_column]) : (ACC)0;
      b_tile[bk][bn] = has_b ? (ACC)wide(b[(first + bk) * p.b_row + (column + bn) * p.b_column]) : (ACC)0;
    }
    __syncthreads();
    // Behind the end of k both factors are zero, and add nothing.
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      ACC left[kOwn], right[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        left[i] = a_tile[k][y + i * 16];
        right[i] = b_tile[k][x + i * 16];
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] = joined(left[i], right[j], sums[i][j]);
    }
    __syncthreads();
  }
  for (int i = 0; i < kOwn; ++i) {
    for (int j = 0; j < kOwn; ++j) {
      const int m = row + y + i * 16, n = column + x + j * 16;
      if (m >= p.m || n >= p.n) continue;
      ACC sum = sums[i][j];
#if EPILOGUE
      sum = (ACC)p.alpha * sum;
      if (p.bias != nullptr)
        sum = sum + (ACC)p.beta * (ACC)wide(((const BIAS*)p.bias)[bias_at + m * p.bias_row + n * p.bias_column]);
#endif
      ((C*)p.c)[c_at + (i64)m * p.n + n] = narrow<C>(sum);
    }
  }
}

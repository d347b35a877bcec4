// Attention of floats where there are many queries: a block takes 64 queries of one head, and 64 keys at a time. A thread multiplies four
// queries with four keys, then weighs four columns of the values for these queries. HEAD and VALUE are the sizes of a head. Arithmetic is
// in f32.
extern __shared__ f32 shared[];

constexpr int kTile = 64, kThreads = 256, kAcross = 16;
typedef Pack<f32, 4> Four;

// Rows of queries or keys from `first` on, which lie by columns afterwards; zeros beyond the last.
__device__ inline void turn_rows(const f32* from, i64 stride, int first, int rows, f32* to) {
  const int row = threadIdx.x % kTile;
#pragma unroll
  for (int i = (int)threadIdx.x / kTile * 4; i < HEAD; i += kThreads / kTile * 4) {
    const Four four = first + row < rows ? *(const Four*)(from + (first + row) * stride + i) : Four{};
#pragma unroll
    for (int j = 0; j < 4; ++j) to[(i + j) * kTile + row] = four.at[j];
  }
}

// Where the weights of four queries for a key lie: threads that write, or read, at a time do so in different banks.
__device__ inline Four& weights_of(f32* weights, int key, int four) { return ((Four*)weights)[key * kAcross + (four ^ key / 4 % kAcross)]; }

// The largest, or the sum, of the 16 threads that share queries.
template <class Fold> __device__ inline f32 fold_across(f32 x) {
  for (int mask = kAcross / 2; mask > 0; mask /= 2) x = Fold::of(x, neighbour(x, mask));
  return x;
}

__device__ inline void add_products(f32 (&sums)[4][4], const Four& rows, const Four& columns) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) sums[i][j] = fmaf(rows.at[i], columns.at[j], sums[i][j]);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads) run(const AttentionParameters p) {
  const int across = threadIdx.x % kAcross, down = threadIdx.x / kAcross;
  const int query_tiles = (p.queries + kTile - 1) / kTile, block_query = blockIdx.x % query_tiles * kTile;
  const int head = blockIdx.x / query_tiles % p.heads, entry = blockIdx.x / query_tiles / p.heads;
  const int shared_head = head / (p.heads / p.kv_heads), first_query = block_query + down * 4;
  const f32* k = (const f32*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const f32* v = (const f32*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const i64 mask_at = entry * p.mask_batch + head * p.mask_head;
  const Reach reach = reach_of(p, entry);
  const int begin = query_of(p, reach, block_query).first / kTile * kTile, end = query_of(p, reach, block_query + kTile - 1).end;

  f32* queries = shared;               // [HEAD, 64]
  f32* keys = queries + HEAD * kTile;  // [HEAD, 64], then weights: [64, 64]
  f32* values = keys + kTile * kTile;  // [64, VALUE]
  turn_rows((const f32*)p.q + entry * p.q_batch + head * p.q_head, p.q_row, block_query, p.queries, queries);
  f32 results[4][4] = {}, tops[4], totals[4] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i) tops[i] = -infinity();

  for (int first = begin; first < end; first += kTile) {
    const int count = end - first < kTile ? end - first : kTile;
    turn_rows(k, p.k_row, first, reach.keys, keys);
    for (int i = threadIdx.x; i < count * (VALUE / 4); i += kThreads)
      ((Four*)values)[i] = *(const Four*)(v + (first + i / (VALUE / 4)) * p.v_row + i % (VALUE / 4) * 4);
    __syncthreads();
    f32 scores[4][4] = {};
#pragma unroll 16
    for (int i = 0; i < HEAD; ++i) add_products(scores, ((const Four*)queries)[i * kAcross + down], ((const Four*)keys)[i * kAcross + across]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Query query = query_of(p, reach, first_query + i, mask_at);
      f32 top = tops[i], sum = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[i][j] = masked_score(p, reach, scores[i][j], query, first + across * 4 + j);
        top = maximum(top, scores[i][j]);
      }
      top = fold_across<Maximum>(top);
      const f32 from = finite_top(top), factor = expf(tops[i] - from);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[i][j] = expf(scores[i][j] - from);
        sum += scores[i][j];
        results[i][j] *= factor;
      }
      totals[i] = totals[i] * factor + sum;
      tops[i] = top;
    }
    __syncthreads();  // keys have been read
#pragma unroll
    for (int j = 0; j < 4; ++j) weights_of(keys, across * 4 + j, down) = {scores[0][j], scores[1][j], scores[2][j], scores[3][j]};
    __syncthreads();
    if (across * 4 < VALUE) {
#pragma unroll 8
      for (int key = 0; key < count; ++key) add_products(results, weights_of(keys, key, down), ((const Four*)values)[key * (VALUE / 4) + across]);
    }
    __syncthreads();
  }

  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const f32 top = maximum(sink_of(p, head), tops[i]), from = finite_top(top), factor = expf(tops[i] - from);
    const f32 sum = fold_across<Sum>(totals[i]) * factor + sink_weight(p, head, from);
    if (first_query + i >= p.queries || across * 4 >= VALUE) continue;
    Four made;
#pragma unroll
    for (int j = 0; j < 4; ++j) made.at[j] = attended(p, results[i][j] * factor / sum, sum, top);
    *(Four*)(y + (first_query + i) * p.y_row + across * 4) = made;
  }
}

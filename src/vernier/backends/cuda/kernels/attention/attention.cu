// Attention: a block takes QUERIES queries of one head, and keeps the scores of all keys in shared memory. A thread multiplies a key,
// of which it reads PACK elements at a time, with all of these queries, and later, for a column of the values, every fourth key's
// weights with them. Arithmetic is in f32.
extern __shared__ f32 shared[];

// A number of each query.
struct Row {
  Pack<f32, (QUERIES < 4 ? QUERIES : 4)> packs[QUERIES < 4 ? 1 : QUERIES / 4];
  __device__ inline f32& operator[](int i) { return packs[i / 4].at[i % 4]; }
};

extern "C" __global__ void __launch_bounds__(256) run(const AttentionParameters p) {
  constexpr int kThreads = 256, kWidth = 64, kParts = kThreads / kWidth;
  __shared__ f32 tops[QUERIES], totals[QUERIES];
  Row* scores = (Row*)shared;
  Row* queries = scores + p.keys;
  Row* parts = queries + p.head_size;
  const int thread = threadIdx.x, query_tiles = (p.queries + QUERIES - 1) / QUERIES;
  const int first_query = blockIdx.x % query_tiles * QUERIES, head = blockIdx.x / query_tiles % p.heads;
  const int entry = blockIdx.x / query_tiles / p.heads, shared_head = head / (p.heads / p.kv_heads);
  const T* q = (const T*)p.q + entry * p.q_batch + head * p.q_head;
  const T* k = (const T*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const T* v = (const T*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const i64 mask_at = entry * p.mask_batch + head * p.mask_head;
  const Reach reach = reach_of(p, entry);
  const int begin = query_of(p, reach, first_query).first, end = query_of(p, reach, first_query + QUERIES - 1).end;

  for (int i = thread; i < QUERIES * p.head_size; i += kThreads) {
    const int row = i / p.head_size, column = i % p.head_size;
    queries[column][row] = first_query + row < p.queries ? wide(q[(first_query + row) * p.q_row + column]) : 0.0f;
  }
  __syncthreads();
  for (int key = begin + thread; key < end; key += kThreads) {
    f32 sums[QUERIES] = {};
#pragma unroll 4
    for (int i = 0; i < p.head_size; i += PACK) {
      const Pack<T, PACK> factors = *(const Pack<T, PACK>*)(k + key * p.k_row + i);
#pragma unroll
      for (int j = 0; j < PACK; ++j) {
        Row row = queries[i + j];
#pragma unroll
        for (int query = 0; query < QUERIES; ++query) sums[query] = fmaf(row[query], wide(factors.at[j]), sums[query]);
      }
    }
    Row row;
#pragma unroll
    for (int query = 0; query < QUERIES; ++query)
      row[query] = masked_score(p, reach, sums[query], query_of(p, reach, first_query + query, mask_at), key);
    scores[key] = row;
  }
  __syncthreads();

  for (int query = thread / 32; query < QUERIES; query += kThreads / 32) {
    f32 top = sink_of(p, head), sum = 0;
    for (int key = begin + thread % 32; key < end; key += 32) top = maximum(top, scores[key][query]);
    top = fold_warp_maximum(top);
    for (int key = begin + thread % 32; key < end; key += 32) {
      const f32 weight = expf(scores[key][query] - finite_top(top));
      scores[key][query] = weight;
      sum += weight;
    }
    sum = fold_warp_sum(sum) + sink_weight(p, head, top);
    tops[query] = top;
    totals[query] = sum;
  }
  __syncthreads();

  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head;
  for (int first = 0; first < p.value_size; first += kWidth) {
    const int column = first + thread % kWidth;
    Row sums = {};
    if (column < p.value_size) {
#pragma unroll 4
      for (int key = begin + thread / kWidth; key < end; key += kParts) {
        const f32 value = wide(v[key * p.v_row + column]);
        Row weights = scores[key];
#pragma unroll
        for (int query = 0; query < QUERIES; ++query) sums[query] = fmaf(weights[query], value, sums[query]);
      }
    }
    parts[thread] = sums;
    __syncthreads();
    for (int i = thread; i < QUERIES * kWidth; i += kThreads) {
      const int query = i / kWidth, at = i % kWidth;
      f32 value = 0;
      for (int part = 0; part < kParts; ++part) value += parts[part * kWidth + at][query];
      if (first_query + query < p.queries && first + at < p.value_size)
        y[(first_query + query) * p.y_row + first + at] = attended(p, value / totals[query], totals[query], tops[query]);
    }
    __syncthreads();
  }
}

// Attention on matrix units where there are few queries: a block takes 16 queries of one head, and each of its warps every WARPS-th
// piece of 32 keys; what the warps have is joined in shared memory.
extern __shared__ f32 parts[];

extern "C" __global__ void __launch_bounds__(WARPS * 32) run(const AttentionParameters p) {
  constexpr int kRows = 16, kKeys = 32, kStride = kWidth + 4;
  const Lane lane;
  const int warp = threadIdx.x / 32;
  const int query_tiles = (p.queries + kRows - 1) / kRows, first_query = blockIdx.x % query_tiles * kRows;
  const int head = blockIdx.x / query_tiles % p.heads, entry = blockIdx.x / query_tiles / p.heads;
  const int shared_head = head / (p.heads / p.kv_heads);
  const T* q = (const T*)p.q + entry * p.q_batch + head * p.q_head;
  const T* k = (const T*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const T* v = (const T*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const i64 mask_at = entry * p.mask_batch + head * p.mask_head;

  Queries queries;
  queries.read(p, q, first_query, lane);
  const Reach reach = reach_of(p, entry);
  const int begin = query_of(p, reach, first_query).first / kKeys * kKeys, end = query_of(p, reach, first_query + kRows - 1).end;
  for (int first = begin + warp * kKeys; first < end; first += WARPS * kKeys) {
    attend<kKeys / 8>(
        p, reach, queries, mask_at, first_query, first, lane,
        [&](int row, int i) { return load(k, (first + row) * p.k_row + i, first + row < p.keys && i < p.head_size); },
        [&](int row, int column) { return load(v, (first + row) * p.v_row + column, first + row < p.keys && column < p.value_size); });
  }

  // Each warp leaves, for each row, the largest score, the sum of weights, then the values.
  f32* stats = parts + WARPS * kRows * kStride;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = warp * kRows + half * 8 + lane.group;
    const f32 sum = queries.sum_of(half);
    if (lane.place == 0) {
      stats[row * 2] = queries.tops[half];
      stats[row * 2 + 1] = sum;
    }
#pragma unroll
    for (int tile = 0; tile < kValueTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        parts[row * kStride + tile / 8 * 64 + (lane.place * 2 + i) * 8 + tile % 8] = queries.values[tile][half * 2 + i];
    }
  }
  __syncthreads();
  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head;
  const int packs = p.value_size / 8;
  for (int at = threadIdx.x; at < kRows * packs; at += WARPS * 32) {
    const int row = at / packs, column = at % packs * 8, query = first_query + row;
    if (query >= p.queries) continue;
    f32 top = sink_of(p, head), joined[8] = {};
    for (int w = 0; w < WARPS; ++w) top = maximum(top, stats[(w * kRows + row) * 2]);
    const f32 from = finite_top(top);
    f32 sum = sink_weight(p, head, from) * kLift;
    for (int w = 0; w < WARPS; ++w) {
      const int part = w * kRows + row;
      const f32 factor = expf(stats[part * 2] - from);
      sum += stats[part * 2 + 1] * factor;
#pragma unroll
      for (int i = 0; i < 8; ++i) joined[i] += parts[part * kStride + column + i] * factor;
    }
    Pack<T, 8> results;
#pragma unroll
    for (int i = 0; i < 8; ++i) results.at[i] = attended(p, joined[i] / sum, sum, top);
    *(Pack<T, 8>*)(y + query * p.y_row + column) = results;
  }
}

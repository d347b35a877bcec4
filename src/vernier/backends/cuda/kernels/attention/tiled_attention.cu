// Attention on matrix units where there are many queries: each warp of a block takes 16 queries of one head, and all of them the same KEYS keys
// and values at a time, which lie in shared memory and come there while those before are attended to.
extern __shared__ f32 shared[];

constexpr int kKeyPacks = Q_CHUNKS * 4, kValuePacks = V_BLOCKS * 8, kStage = KEYS * (kKeyPacks + kValuePacks);  // packs of 8 elements

// Where a pack lies: the 8 lanes that read at a time do so from all banks.
__device__ inline int key_pack(int row, int pack) { return row * kKeyPacks + (Q_CHUNKS % 2 ? pack : pack ^ (row & 1) * 4); }
__device__ inline int value_pack(int row, int pack) { return KEYS * kKeyPacks + row * kValuePacks + (pack ^ (row & 6)); }

constexpr int kThreads = 32 * WARPS;

// Has KEYS rows of PACKS packs come from row `first` on, zeros where there are no more, and beyond `size` elements.
template <int PACKS, class Place> __device__ inline void fetch_rows(const T* from, i64 stride, int size, int first, int rows, Words* to, const Place& place) {
#pragma unroll
  for (int i = 0; i < (KEYS * PACKS + kThreads - 1) / kThreads; ++i) {
    const int at = (int)threadIdx.x + i * kThreads, row = at / PACKS, pack = at % PACKS;
    if (KEYS * PACKS % kThreads != 0 && at >= KEYS * PACKS) break;
    const bool there = first + row < rows && pack * 8 < size;
    fetch(to + place(row, pack), from + (there ? (first + row) * stride + pack * 8 : 0), there);
  }
}

// Three blocks to a multiprocessor have all registers.
extern "C" __global__ void __launch_bounds__(WARPS * 32, V_BLOCKS == 1 ? 3 : 1) run(const AttentionParameters p) {
  constexpr int kRows = 16 * WARPS;
  const Lane lane;
  const int query_tiles = (p.queries + kRows - 1) / kRows, block_query = blockIdx.x % query_tiles * kRows;
  const int head = blockIdx.x / query_tiles % p.heads, entry = blockIdx.x / query_tiles / p.heads;
  const int shared_head = head / (p.heads / p.kv_heads), first_query = block_query + threadIdx.x / 32 * 16;
  const T* k = (const T*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const T* v = (const T*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const i64 mask_at = entry * p.mask_batch + head * p.mask_head;

  Words* tiles = (Words*)shared;
  Queries queries;
  queries.read(p, (const T*)p.q + entry * p.q_batch + head * p.q_head, first_query, lane);
  const Reach reach = reach_of(p, entry);
  const int begin = query_of(p, reach, block_query).first / KEYS * KEYS, end = query_of(p, reach, block_query + kRows - 1).end;
  const auto fetch_stage = [&](int first, Words* stage) {
    fetch_rows<kKeyPacks>(k, p.k_row, p.head_size, first, reach.keys, stage, key_pack);
    fetch_rows<kValuePacks>(v, p.v_row, p.value_size, first, reach.keys, stage, value_pack);
  };
  if (begin < end) fetch_stage(begin, tiles);
  end_fetches();
  for (int first = begin, number = 0; first < end; first += KEYS, ++number) {
    if (first + KEYS < end) fetch_stage(first + KEYS, tiles + (number + 1) % 2 * kStage);
    end_fetches();
    wait_for_fetches_before();
    __syncthreads();
    const Words* stage = tiles + number % 2 * kStage;
    const auto keys = [&](int row, int i) { return stage[key_pack(row, i / 8)]; };
    const auto values = [&](int row, int column) { return stage[value_pack(row, column / 8)]; };
    // Warps beyond the last query only bring keys, and of what is left after whole tiles only few are attended to.
    if (first_query < p.queries) {
      if (end - first > 16)
        attend<KEYS / 8>(p, reach, queries, mask_at, first_query, first, lane, keys, values);
      else
        attend<2>(p, reach, queries, mask_at, first_query, first, lane, keys, values);
    }
    __syncthreads();
  }

  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int query = first_query + half * 8 + lane.group;
    const f32 top = maximum(sink_of(p, head), queries.tops[half]), from = finite_top(top), factor = expf(queries.tops[half] - from);
    const f32 sum = sink_weight(p, head, from) * kLift + queries.sum_of(half) * factor;
    const f32 share = factor / sum;  // one division for all of a row
#pragma unroll
    for (int pack = 0; pack < V_BLOCKS * 2; ++pack) {
      const int column = pack / 2 * 64 + (lane.place * 2 + pack % 2) * 8;
      if (query >= p.queries || column >= p.value_size) continue;
      Pack<T, 8> results;
#pragma unroll
      for (int i = 0; i < 8; ++i) results.at[i] = attended(p, queries.values[pack / 2 * 8 + i][half * 2 + pack % 2] * share, sum, top);
      *(Pack<T, 8>*)(y + query * p.y_row + column) = results;
    }
  }
}

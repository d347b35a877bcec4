// Attention on matrix units: a block takes 16 * ROWS queries of one head, and each of its warps every WARPS-th piece of 32 keys, of
// which it keeps the largest score, the sum of weights and the sum of weighted values; what the warps have is joined in shared memory.
// T is f16 or bf16, in which weights are rounded before they meet the values. Q_CHUNKS times 32 elements hold a query, V_BLOCKS times 64
// a value. Factors are taken in an order of their own, keys and queries in the same one, so that a thread reads 16 bytes at a
// time from where they lie: the columns of values are dealt to the tiles of a result likewise.
extern __shared__ f32 parts[];

struct alignas(16) Words { u32 at[4]; };

// 8 elements at an offset, or zeros where there are none.
__device__ inline Words load(const T* from, i64 offset, bool there) {
  return there ? *(const Words*)(from + offset) : Words{};
}

__device__ inline u32 pair_of(f32 low, f32 high) { return (u32)narrow<T>(low).bits | (u32)narrow<T>(high).bits << 16; }

extern "C" __global__ void __launch_bounds__(WARPS * 32) run(const AttentionParameters p) {
  constexpr int kRows = 16 * ROWS, kKeys = 32, kTiles = kKeys / 8, kWidth = V_BLOCKS * 64, kStride = kWidth + 4;
  // Weights are kept this much larger, so that small ones are no subnormal numbers of f16; the quotient by their sum has no trace of it.
  constexpr f32 kLift = 16384;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, place = lane % 4;
  const int query_tiles = (p.queries + kRows - 1) / kRows, first_query = blockIdx.x % query_tiles * kRows;
  const int head = blockIdx.x / query_tiles % p.heads, entry = blockIdx.x / query_tiles / p.heads;
  const int shared_head = head / (p.heads / p.kv_heads);
  const T* q = (const T*)p.q + entry * p.q_batch + head * p.q_head;
  const T* k = (const T*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const T* v = (const T*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const i64 mask_at = entry * p.mask_batch + head * p.mask_head;

  u32 queries[ROWS][Q_CHUNKS * 2][4];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int chunk = 0; chunk < Q_CHUNKS; ++chunk) {
      const int row = first_query + r * 16 + group, i = chunk * 32 + place * 8;
      const Words low = load(q, row * p.q_row + i, row < p.queries && i < p.head_size);
      const Words high = load(q, (row + 8) * p.q_row + i, row + 8 < p.queries && i < p.head_size);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        queries[r][chunk * 2 + half][0] = low.at[half * 2];
        queries[r][chunk * 2 + half][1] = high.at[half * 2];
        queries[r][chunk * 2 + half][2] = low.at[half * 2 + 1];
        queries[r][chunk * 2 + half][3] = high.at[half * 2 + 1];
      }
    }
  }

  f32 values[ROWS][V_BLOCKS * 8][4] = {}, tops[ROWS][2], sums[ROWS][2] = {};
  for (int r = 0; r < ROWS; ++r) tops[r][0] = tops[r][1] = -infinity();

  const Reach reach = reach_of(p, entry);
  const int begin = first_key(p, reach, first_query) / kKeys * kKeys, end = end_of_keys(p, reach, first_query + kRows);
  for (int first = begin + warp * kKeys; first < end; first += WARPS * kKeys) {
    f32 scores[ROWS][kTiles][4] = {};
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const int key = first + tile * 8 + group;
#pragma unroll
      for (int chunk = 0; chunk < Q_CHUNKS; ++chunk) {
        const int i = chunk * 32 + place * 8;
        const Words keys = load(k, key * p.k_row + i, key < p.keys && i < p.head_size);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
          multiply_add<T>(scores[r][tile], queries[r][chunk * 2], keys.at[0], keys.at[1]);
          multiply_add<T>(scores[r][tile], queries[r][chunk * 2 + 1], keys.at[2], keys.at[3]);
        }
      }
    }

#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        f32 top = tops[r][half];
        const int query = first_query + r * 16 + half * 8 + group;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            f32& score = scores[r][tile][half * 2 + i];
            score = masked_score(p, reach, score, mask_at, query, first + tile * 8 + place * 2 + i);
            top = maximum(top, score);
          }
        }
        top = maximum(top, neighbour(top, 1));
        top = maximum(top, neighbour(top, 2));
        const f32 from = finite_top(top);
        const f32 factor = expf(tops[r][half] - from);
        f32 sum = 0;
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            f32& weight = scores[r][tile][half * 2 + i];
            weight = expf(weight - from) * kLift;
            sum += weight;
          }
        }
        tops[r][half] = top;
        sums[r][half] = sums[r][half] * factor + sum;
#pragma unroll
        for (int tile = 0; tile < V_BLOCKS * 8; ++tile) {
          values[r][tile][half * 2] *= factor;
          values[r][tile][half * 2 + 1] *= factor;
        }
      }
    }

#pragma unroll
    for (int tile = 0; tile < kTiles; tile += 2) {
      u32 weights[ROWS][4];
#pragma unroll
      for (int r = 0; r < ROWS; ++r) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const f32(&pairs)[4] = scores[r][tile + i / 2];
          weights[r][i] = pair_of(pairs[i % 2 * 2], pairs[i % 2 * 2 + 1]);
        }
      }
#pragma unroll
      for (int block = 0; block < V_BLOCKS; ++block) {
        const int column = block * 64 + group * 8, key = first + tile * 8 + place * 2;
        Words rows[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int row = key + i / 2 * 8 + i % 2;
          rows[i] = load(v, row * p.v_row + column, row < p.keys && column < p.value_size);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const u32 selected = i % 2 ? 0x7632 : 0x5410;
          const u32 b0 = __byte_perm(rows[0].at[i / 2], rows[1].at[i / 2], selected);
          const u32 b1 = __byte_perm(rows[2].at[i / 2], rows[3].at[i / 2], selected);
#pragma unroll
          for (int r = 0; r < ROWS; ++r) multiply_add<T>(values[r][block * 8 + i], weights[r], b0, b1);
        }
      }
    }
  }

  // Each warp leaves, for each row, the largest score, the sum of weights, then the values.
  f32* stats = parts + WARPS * kRows * kStride;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp * kRows + r * 16 + half * 8 + group;
      f32 sum = sums[r][half];
      sum += neighbour(sum, 1);
      sum += neighbour(sum, 2);
      if (place == 0) {
        stats[row * 2] = tops[r][half];
        stats[row * 2 + 1] = sum;
      }
#pragma unroll
      for (int tile = 0; tile < V_BLOCKS * 8; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i)
          parts[row * kStride + tile / 8 * 64 + (place * 2 + i) * 8 + tile % 8] = values[r][tile][half * 2 + i];
      }
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
    for (int i = 0; i < 8; ++i) results.at[i] = attended(p, joined[i], sum, top);
    *(Pack<T, 8>*)(y + query * p.y_row + column) = results;
  }
}

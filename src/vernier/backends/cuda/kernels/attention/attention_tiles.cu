// Programs of attention on matrix units share how a warp weighs keys for 16 queries. T is f16 or bf16, in which weights
// are rounded before they meet the values. Q_CHUNKS times 32 elements hold a query, V_BLOCKS times 64 a value. Factors are taken in an order
// of their own, keys and queries in the same one, so that a thread reads 16 bytes at a time from where they lie: the columns of values are
// dealt to the tiles of a result likewise.
constexpr int kWidth = V_BLOCKS * 64, kValueTiles = V_BLOCKS * 8;
// Weights are kept this much larger, so that small ones are no subnormal numbers of f16; the quotient by their sum has no trace of it.
constexpr f32 kLift = 16384;

struct alignas(16) Words { u32 at[4]; };

// 8 elements at an offset, or zeros where there are none.
__device__ inline Words load(const T* from, i64 offset, bool there) {
  return there ? *(const Words*)(from + offset) : Words{};
}

__device__ inline u32 pair_of(f32 low, f32 high) { return (u32)narrow<T>(low).bits | (u32)narrow<T>(high).bits << 16; }

// The place of a thread in its warp, as multiply_add has it.
struct Lane {
  const int group = threadIdx.x % 32 / 4, place = threadIdx.x % 4;
};

// 16 queries, and what is known of them so far: the largest score of rows `group` and group + 8, the sum of weights as far as this lane has
// added them, and the sum of weighted values.
struct Queries {
  u32 words[Q_CHUNKS * 2][4];
  f32 values[kValueTiles][4] = {}, tops[2] = {-infinity(), -infinity()}, sums[2] = {};

  __device__ void read(const AttentionParameters& p, const T* q, int first, const Lane& lane) {
#pragma unroll
    for (int chunk = 0; chunk < Q_CHUNKS; ++chunk) {
      const int row = first + lane.group, i = chunk * 32 + lane.place * 8;
      const Words low = load(q, row * p.q_row + i, row < p.queries && i < p.head_size);
      const Words high = load(q, (row + 8) * p.q_row + i, row + 8 < p.queries && i < p.head_size);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        words[chunk * 2 + half][0] = low.at[half * 2];
        words[chunk * 2 + half][1] = high.at[half * 2];
        words[chunk * 2 + half][2] = low.at[half * 2 + 1];
        words[chunk * 2 + half][3] = high.at[half * 2 + 1];
      }
    }
  }

  // Makes weights of scores, and brings what was summed before to the same largest score.
  template <int TILES> __device__ void weigh(f32 (&scores)[TILES][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      f32 top = tops[half];
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) top = maximum(top, maximum(scores[tile][half * 2], scores[tile][half * 2 + 1]));
      top = maximum(top, neighbour(top, 1));
      top = maximum(top, neighbour(top, 2));
      const f32 from = finite_top(top), factor = normal_power_of_two((tops[half] - from) * kLog2E);
      f32 sum = 0;
#pragma unroll
      for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          f32& weight = scores[tile][half * 2 + i];
          weight = normal_power_of_two((weight - from) * kLog2E) * kLift;
          sum += weight;
        }
      }
      tops[half] = top;
      sums[half] = sums[half] * factor + sum;
#pragma unroll
      for (int tile = 0; tile < kValueTiles; ++tile) {
        values[tile][half * 2] *= factor;
        values[tile][half * 2 + 1] *= factor;
      }
    }
  }

  // The sum of all weights of a row, in each of its lanes.
  __device__ f32 sum_of(int half) const {
    const f32 sum = sums[half] + neighbour(sums[half], 1);
    return sum + neighbour(sum, 2);
  }
};

// Attends to 8 * TILES keys from `first` on. keys(row, i) gives 8 elements of a key, counted from `first`, values(row, column) of a value.
template <int TILES, class Keys, class Values>
__device__ inline void attend(const AttentionParameters& p, const Reach& reach, Queries& queries, i64 mask_at, int first_query, int first,
                              const Lane& lane, const Keys& keys, const Values& values) {
  const bool may_attend_to_all = query_of(p, reach, first_query + 15).first <= first && first + TILES * 8 <= query_of(p, reach, first_query).end;
  const bool is_masked = MASKED || PADDING || CAP || !may_attend_to_all;
  const Query own[2] = {query_of(p, reach, first_query + lane.group, mask_at), query_of(p, reach, first_query + 8 + lane.group, mask_at)};
  f32 scores[TILES][4] = {};
  MASK masks[TILES][4];  // asked for before the products, which take as long
  const auto each_score = [&](const auto& use) {
#pragma unroll
    for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) use(scores[tile][i], masks[tile][i], own[i / 2], first + tile * 8 + lane.place * 2 + i % 2);
    }
  };
  if (MASKED) each_score([&](f32&, MASK& mask, const Query& query, int key) { mask = mask_of(p, query, key); });
#pragma unroll
  for (int tile = 0; tile < TILES; ++tile) {
#pragma unroll
    for (int chunk = 0; chunk < Q_CHUNKS; ++chunk) {
      const Words words = keys(tile * 8 + lane.group, chunk * 32 + lane.place * 8);
      multiply_add<T>(scores[tile], queries.words[chunk * 2], words.at[0], words.at[1]);
      multiply_add<T>(scores[tile], queries.words[chunk * 2 + 1], words.at[2], words.at[3]);
    }
  }
  if (is_masked)
    each_score([&](f32& score, MASK mask, const Query& query, int key) { score = masked_score(p, reach, score, query, key, mask); });
  else
    each_score([&](f32& score, MASK, const Query&, int) { score *= (f32)p.scale; });
  queries.weigh(scores);
#pragma unroll
  for (int tile = 0; tile < TILES; tile += 2) {
    u32 weights[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const f32(&pairs)[4] = scores[tile + i / 2];
      weights[i] = pair_of(pairs[i % 2 * 2], pairs[i % 2 * 2 + 1]);
    }
#pragma unroll
    for (int block = 0; block < V_BLOCKS; ++block) {
      Words rows[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) rows[i] = values(tile * 8 + lane.place * 2 + i / 2 * 8 + i % 2, block * 64 + lane.group * 8);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const u32 selected = i % 2 ? 0x7632 : 0x5410;
        const u32 b0 = __byte_perm(rows[0].at[i / 2], rows[1].at[i / 2], selected);
        const u32 b1 = __byte_perm(rows[2].at[i / 2], rows[3].at[i / 2], selected);
        multiply_add<T>(queries.values[block * 8 + i], weights, b0, b1);
      }
    }
  }
}

// Attention of few queries, as a decoder has one: a block takes ROWS of the queries that read the same head of keys and values, and
// split_keys of these keys, of which it keeps the scores in shared memory. Eight lanes multiply a key, PACK elements at a time; WIDTH
// columns of PACK values are summed beside each other, each by 256 / WIDTH threads. Where keys are dealt to several blocks, what each has
// goes to memory: the largest score, the sum of weights, then the weighted values.
extern __shared__ f32 shared[];

extern "C" __global__ void __launch_bounds__(256) run(const AttentionParameters p) {
  constexpr int kThreads = 256, kLanes = 8, kWarps = kThreads / 32, kKeys = 32 / kLanes, kParts = kThreads / WIDTH;
  __shared__ f32 tops[ROWS], totals[ROWS];
  f32* scores = shared;                        // [ROWS, split_keys]
  f32* queries = scores + ROWS * p.split_keys;  // [ROWS, head_size]
  f32* parts = queries + ROWS * p.head_size;    // [threads, PACK]
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const int group = p.heads / p.kv_heads, rows = group * p.queries, tiles = (rows + ROWS - 1) / ROWS;
  const int split = blockIdx.x % p.splits, first_row = blockIdx.x / p.splits % tiles * ROWS;
  const int shared_head = blockIdx.x / p.splits / tiles % p.kv_heads, entry = blockIdx.x / p.splits / tiles / p.kv_heads;
  const T* q = (const T*)p.q + entry * p.q_batch;
  const T* k = (const T*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const T* v = (const T*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const Reach reach = reach_of(p, entry);
  const int split_begin = split * p.split_keys, split_end = split_begin + p.split_keys;
  const int reach_begin = query_of(p, reach, 0).first, reach_end = query_of(p, reach, p.queries - 1).end;
  const int begin = reach_begin > split_begin ? reach_begin : split_begin, end = reach_end < split_end ? reach_end : split_end;

  for (int i = thread; i < ROWS * p.head_size; i += kThreads) {
    const int row = first_row + i / p.head_size, head = shared_head * group + row / p.queries;
    queries[i] = row < rows ? wide(q[head * p.q_head + row % p.queries * p.q_row + i % p.head_size]) : 0.0f;
  }
  __syncthreads();
  for (int first = begin + warp * kKeys; first < end; first += kWarps * kKeys) {
    const int key = first + lane / kLanes;
    f32 sums[ROWS] = {};
    for (int i = lane % kLanes * PACK; i < p.head_size && key < end; i += kLanes * PACK) {
      const Pack<T, PACK> factors = *(const Pack<T, PACK>*)(k + key * p.k_row + i);
#pragma unroll
      for (int j = 0; j < PACK; ++j) {
        const f32 factor = wide(factors.at[j]);
#pragma unroll
        for (int row = 0; row < ROWS; ++row) sums[row] = fmaf(queries[row * p.head_size + i + j], factor, sums[row]);
      }
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
      f32 sum = sums[row];
      for (int mask = kLanes / 2; mask > 0; mask /= 2) sum += neighbour(sum, mask);
      if (lane % kLanes != row % kLanes || key >= end) continue;
      const int at = first_row + row, head = shared_head * group + at / p.queries;
      scores[row * p.split_keys + key - split_begin] =
          at < rows ? masked_score(p, reach, sum, query_of(p, reach, at % p.queries, entry * p.mask_batch + head * p.mask_head), key) : -infinity();
    }
  }
  __syncthreads();

  for (int row = warp; row < ROWS; row += kWarps) {
    const int head = shared_head * group + (first_row + row) / p.queries;
    const bool sinks = SINK && p.splits == 1 && first_row + row < rows;
    f32* weights = scores + row * p.split_keys - split_begin;
    f32 top = sinks ? sink_of(p, head) : -infinity(), sum = 0;
    for (int key = begin + lane; key < end; key += 32) top = maximum(top, weights[key]);
    top = fold_warp_maximum(top);
    for (int key = begin + lane; key < end; key += 32) {
      weights[key] = expf(weights[key] - finite_top(top));
      sum += weights[key];
    }
    tops[row] = top;
    totals[row] = fold_warp_sum(sum) + (sinks ? sink_weight(p, head, top) : 0.0f);
  }
  __syncthreads();

  for (int first = 0; first < p.value_size; first += WIDTH * PACK) {
    const int column = first + thread % WIDTH * PACK;
    f32 sums[ROWS][PACK] = {};
    for (int key = begin + thread / WIDTH; key < end && column < p.value_size; key += kParts) {
      const Pack<T, PACK> values = *(const Pack<T, PACK>*)(v + key * p.v_row + column);
#pragma unroll
      for (int row = 0; row < ROWS; ++row) {
        const f32 weight = scores[row * p.split_keys + key - split_begin];
#pragma unroll
        for (int j = 0; j < PACK; ++j) sums[row][j] = fmaf(weight, wide(values.at[j]), sums[row][j]);
      }
    }
#pragma unroll
    for (int row = 0; row < ROWS; ++row) {
#pragma unroll
      for (int j = 0; j < PACK; ++j) parts[thread * PACK + j] = sums[row][j];
      __syncthreads();
      const int at = first_row + row, head = shared_head * group + at / p.queries, query = at % p.queries;
      for (int i = thread; i < WIDTH * PACK && at < rows && first + i < p.value_size; i += kThreads) {
        f32 value = 0;
        for (int part = 0; part < kParts; ++part) value += parts[part * WIDTH * PACK + i];
        if (p.splits == 1) {
          T* y = (T*)p.y + entry * p.y_batch + head * p.y_head + query * p.y_row;
          y[first + i] = attended(p, value / totals[row], totals[row], tops[row]);
        } else {
          const i64 result = ((i64)entry * p.heads + head) * p.queries + query;
          f32* partial = (f32*)p.partials + (result * p.splits + split) * (p.value_size + 2);
          partial[0] = tops[row];
          partial[1] = totals[row];
          partial[2 + first + i] = value;
        }
      }
      __syncthreads();
    }
  }
}

// Programs of attention begin with this: the score of a query and a key, and what a row of weighted values
// becomes. T is the type of queries, keys and values, MASK that of what is added to scores; MASKED is 0 where
// there is none, 2 where it is BOOL. CAP is 1 where scores are capped.
__device__ inline f32 infinity() { return __uint_as_float(0x7f800000); }

// Keys of an entry of the batch that count, and the place of its first query among them. COUNTED is 1 where counts are numbers of keys,
// i64, at whose end the queries are; 2 where they are indices of the last key, i32, and all keys are new where there are as many queries.
struct Reach {
  int entry, position, keys;
};

__device__ inline Reach reach_of(const AttentionParameters& p, int entry) {
  Reach reach = {entry, p.past, p.keys};
#if COUNTED
#if COUNTED == 1
  const i64 count = ((const i64*)p.counts)[entry];
  reach.position = (int)(count - p.queries);
#else
  const i64 count = (i64)((const i32*)p.counts)[entry] + 1;
  reach.position = p.queries == p.longest ? 0 : (int)(count - p.queries);
#endif
  if (count < p.keys) reach.keys = count < 0 ? 0 : (int)count;
#endif
  return reach;
}

// A query of a head: the keys [first, end) that it may attend to as far as their places tell, and where its row of the mask begins.
struct Query {
  int number, first, end;
  i64 mask_at;
};

// Queries beyond the last are as the last: nothing of them is stored.
__device__ inline Query query_of(const AttentionParameters& p, const Reach& reach, int number, i64 mask_at = 0) {
  if (number >= p.queries) number = p.queries - 1;
  const int position = number + reach.position, first = p.left < 0 || position < p.left ? 0 : position - p.left;
  int end = MASKED && p.mask_keys < reach.keys ? p.mask_keys : reach.keys;
  if (p.causal && position + 1 < end) end = position + 1;
  if (p.right >= 0 && p.right < end - 1 - position) end = position + p.right + 1;
  return {number, first, end, mask_at + number * p.mask_row};
}

// Whether the key is padding: PADDING is 1 where it tells the ends of keys, 2 ends and beginnings, 3 flags of keys, 4 of queries and keys.
#if PADDING
__device__ inline bool is_padding(const AttentionParameters& p, int entry, int query, int key) {
  const i32* padding = (const i32*)p.padding;
#if PADDING == 1
  return key >= padding[entry];
#elif PADDING == 2
  return key >= padding[entry] || key < padding[p.batch + entry];
#else
  return padding[(PADDING == 3 ? (i64)entry : (i64)entry * p.queries + query) * p.keys + key] == 0;
#endif
}
#endif

// Gives what the mask says of a query and a key that it may attend to.
__device__ inline MASK mask_of(const AttentionParameters& p, const Query& query, int key) {
  const bool reads = MASKED && key >= query.first && key < query.end;
  return reads ? ((const MASK*)p.mask)[query.mask_at + (i64)key * (int)p.mask_column] : MASK{};
}

// `sum` is that of the products; minus infinity where the query must not attend to the key.
__device__ inline f32 masked_score(const AttentionParameters& p, const Reach& reach, f32 sum, const Query& query, int key, MASK mask) {
  bool attends = key >= query.first && key < query.end;
  f32 score = sum * (f32)p.scale;
#if CAP
  score = (f32)p.cap * tanhf(score / (f32)p.cap);
#endif
#if PADDING
  if (attends && is_padding(p, reach.entry, query.number, key)) score += (f32)p.filter;
#endif
#if MASKED == 2
  attends = attends && mask != 0;
#elif MASKED
  const f32 bias = (f32)wide(mask);
  attends = attends && bias != -infinity();
  score += bias;
#endif
  return attends ? score : -infinity();
}

__device__ inline f32 masked_score(const AttentionParameters& p, const Reach& reach, f32 sum, const Query& query, int key) {
  return masked_score(p, reach, sum, query, key, mask_of(p, query, key));
}

// Where nothing may be attended all scores are minus infinity, and their differences none.
__device__ inline f32 finite_top(f32 top) { return top == -infinity() ? 0.0f : top; }

// A score without a value, that takes its share of the weights: SINK is 1 where it is 0, 2 where each head has one.
__device__ inline f32 sink_of(const AttentionParameters& p, int head) {
#if SINK == 2
  return wide(((const T*)p.sinks)[head]);
#else
  return SINK ? 0.0f : -infinity();
#endif
}
// Its weight where the largest score, of which it is one, is `top`.
__device__ inline f32 sink_weight(const AttentionParameters& p, int head, f32 top) {
  return SINK ? expf(sink_of(p, head) - top) : 0.0f;
}

__device__ inline f32 fold_warp_sum(f32 x) {
  for (int mask = 16; mask > 0; mask /= 2) x += neighbour(x, mask);
  return x;
}
__device__ inline f32 fold_warp_maximum(f32 x) {
  for (int mask = 16; mask > 0; mask /= 2) x = maximum(x, neighbour(x, mask));
  return x;
}

__device__ inline T attended(const AttentionParameters& p, f32 quotient, f32 sum, f32 top) {
  if (top == -infinity()) return narrow<T>(p.without == 1 ? __uint_as_float(0x7fc00000) : 0.0f);
  if (p.without == 2 && sum != sum) return narrow<T>(0.0f);
  return narrow<T>(quotient);
}

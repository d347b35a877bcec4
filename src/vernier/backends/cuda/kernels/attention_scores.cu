// What programs of attention have before them: the score of a query and a key, and what a row of weighted values becomes.
// T is the type of queries, keys and values, MASK that of what is added to scores; MASKED is 0 where there is none, 2 where it is
// BOOL. CAP is 1 where scores are capped.
__device__ inline f32 infinity() { return __uint_as_float(0x7f800000); }

__device__ inline bool is_outside(const AttentionParameters& p, int query, int key) {
  return (p.causal && key > query) || (p.left >= 0 && key < query - p.left) || (p.right >= 0 && key > query + p.right);
}

// `sum` is that of the products; minus infinity where the query must not attend to the key.
__device__ inline f32 masked_score(const AttentionParameters& p, f32 sum, i64 mask_at, int query, int key) {
  if (query >= p.queries || key >= p.keys || is_outside(p, query, key)) return -infinity();
  f32 score = sum * (f32)p.scale;
#if CAP
  score = (f32)p.cap * tanhf(score / (f32)p.cap);
#endif
#if MASKED
  if (key >= p.mask_keys) return -infinity();
  const MASK mask = ((const MASK*)p.mask)[mask_at + query * p.mask_row + key * p.mask_column];
#if MASKED == 2
  if (mask == 0) return -infinity();
#else
  const f32 bias = (f32)wide(mask);
  if (bias == -infinity()) return bias;
  score = score + bias;
#endif
#endif
  return score;
}

// Where nothing may be attended all scores are minus infinity, and their differences none.
__device__ inline f32 finite_top(f32 top) { return top == -infinity() ? 0.0f : top; }

__device__ inline T attended(const AttentionParameters& p, f32 value, f32 sum, f32 top) {
  if (top == -infinity()) return narrow<T>(p.without == 1 ? __uint_as_float(0x7fc00000) : 0.0f);
  if (p.without == 2 && sum != sum) return narrow<T>(0.0f);
  return narrow<T>(value / sum);
}

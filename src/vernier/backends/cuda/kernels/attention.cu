// Attention: a block takes one query of one head. Scores of all keys lie in shared memory; sums are in f32, in order for
// scores and values, and the weights' sum in f64. T is the type of queries, keys and values, MASK that of what is added
// to scores; MASKED is 0 where there is none, 2 where it is BOOL. CAP is 1 where scores are capped.
extern __shared__ f32 scores[];

extern "C" __global__ void run(const AttentionParameters p) {
  __shared__ f32 tops[256];
  __shared__ f64 sums[256];
  const int query = blockIdx.x % p.queries, head = blockIdx.x / p.queries % p.heads;
  const int entry = blockIdx.x / p.queries / p.heads, shared_head = head / (p.heads / p.kv_heads);
  const T* q = (const T*)p.q + entry * p.q_batch + head * p.q_head + query * p.q_row;
  const T* k = (const T*)p.k + entry * p.k_batch + shared_head * p.k_head;
  const T* v = (const T*)p.v + entry * p.v_batch + shared_head * p.v_head;
  const f32 infinity = (f32)of_bits(0x7ff0000000000000), scale = (f32)p.scale;
  f32 top = -infinity;
  for (int key = threadIdx.x; key < p.keys; key += blockDim.x) {
    f32 score = 0;
    for (int i = 0; i < p.head_size; ++i) score = fmaf(wide(q[i]), wide(k[key * p.k_row + i]), score);
    score = score * scale;
#if CAP
    score = (f32)p.cap * tanhf(score / (f32)p.cap);
#endif
    bool forbidden = (p.causal && key > query) || (p.left >= 0 && key < query - p.left) ||
                     (p.right >= 0 && key > query + p.right);
#if MASKED
    if (key < p.mask_keys) {
      const MASK mask = ((const MASK*)p.mask)[entry * p.mask_batch + head * p.mask_head + query * p.mask_row + key * p.mask_column];
#if MASKED == 2
      forbidden = forbidden || mask == 0;
#else
      const f32 bias = (f32)wide(mask);
      forbidden = forbidden || bias == -infinity;
      score = score + bias;
#endif
    } else {
      forbidden = true;
    }
#endif
    if (forbidden) score = -infinity;
    scores[key] = score;
    top = maximum(top, score);
  }
  top = fold_block<Maximum>(top, tops);
  f64 sum = 0;
  for (int key = threadIdx.x; key < p.keys; key += blockDim.x) {
    // Where nothing may be attended all scores are minus infinity, and their differences none.
    const f32 weight = top == -infinity ? 0.0f : expf(scores[key] - top);
    scores[key] = weight;
    sum += (f64)weight;
  }
  sum = fold_block<Sum>(sum, sums);
  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head + query * p.y_row;
  for (int i = threadIdx.x; i < p.value_size; i += blockDim.x) {
    f32 value = 0;
    for (int key = 0; key < p.keys; ++key) value = fmaf(scores[key], wide(v[key * p.v_row + i]), value);
    f32 result = (f32)((f64)value / sum);
    if (top == -infinity) result = p.without == 1 ? (f32)of_bits(0x7ff8000000000000) : 0.0f;
    if (p.without == 2 && sum != sum) result = 0;
    y[i] = narrow<T>(result);
  }
}

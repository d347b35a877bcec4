// Joins what the blocks of decode_attention have of each query, in the order of the keys. A block takes a query.
extern "C" __global__ void run(const AttentionParameters p) {
  const int query = blockIdx.x % p.queries, head = blockIdx.x / p.queries % p.heads, entry = blockIdx.x / p.queries / p.heads;
  const int stride = p.value_size + 2;
  const f32* partials = (const f32*)p.partials + (i64)blockIdx.x * p.splits * stride;
  T* y = (T*)p.y + entry * p.y_batch + head * p.y_head + query * p.y_row;
  f32 top = sink_of(p, head);
  for (int split = 0; split < p.splits; ++split) top = maximum(top, partials[split * stride]);
  const f32 from = finite_top(top);
  for (int column = threadIdx.x; column < p.value_size; column += blockDim.x) {
    f32 sum = sink_weight(p, head, from), value = 0;
    for (int split = 0; split < p.splits; ++split) {
      const f32* partial = partials + split * stride;
      const f32 factor = expf(partial[0] - from);
      sum += partial[1] * factor;
      value += partial[2 + column] * factor;
    }
    y[column] = attended(p, value / sum, sum, top);
  }
}

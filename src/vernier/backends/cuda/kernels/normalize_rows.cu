// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by rows: a block takes a row. x is what `elements` computes, N of ACC at a
// time; a thread keeps PACKS times so many, or computes them each time if PACKS is 0. Statistics, and what is made of them, are in
// double.
template <class Use> __device__ inline void each_pack(const RowNormalizeParameters& p, i64 row, Pack<ACC, N>* kept, bool first, bool& fault, Use use) {
#if PACKS
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    const i64 i = (i64)(threadIdx.x + k * blockDim.x) * N;
    if (i >= p.length) continue;
    if (first) kept[k] = elements<N>(p.chain, (IDX)(row * p.length + i), fault);
    use(i, kept[k]);
  }
#else
  for (i64 i = (i64)threadIdx.x * N; i < p.length; i += (i64)blockDim.x * N) use(i, elements<N>(p.chain, (IDX)(row * p.length + i), fault));
#endif
}

extern "C" __global__ void run(const RowNormalizeParameters p) {
  __shared__ f64 shared[32];
  bool fault = false;
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    Pack<ACC, N> kept[PACKS + 1];
    f64 mean = 0, squares = 0;
#if CENTRED
    each_pack(p, row, kept, true, fault, [&](i64, const Pack<ACC, N>& x) {
#pragma unroll
      for (int j = 0; j < N; ++j) mean += (f64)x.at[j];
    });
    mean = fold_block<Sum>(mean, shared) / (f64)p.length;
#endif
    each_pack(p, row, kept, !CENTRED, fault, [&](i64, const Pack<ACC, N>& x) {
#pragma unroll
      for (int j = 0; j < N; ++j) squares += ((f64)x.at[j] - mean) * ((f64)x.at[j] - mean);
    });
    const f64 inverse = 1 / sqrt(fold_block<Sum>(squares, shared) / (f64)p.length + p.epsilon);
    each_pack(p, row, kept, false, fault, [&](i64 i, const Pack<ACC, N>& x) {
      Pack<PARAMETER, N> scale, bias;
      if (p.scale != nullptr) scale = *(const Pack<PARAMETER, N>*)((const PARAMETER*)p.scale + i);
      if (p.bias != nullptr) bias = *(const Pack<PARAMETER, N>*)((const PARAMETER*)p.bias + i);
      Pack<T, N> made;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        f64 y = ((f64)x.at[j] - mean) * inverse;
        if (p.scale != nullptr) y *= (f64)wide(scale.at[j]);
        if (p.bias != nullptr) y += (f64)wide(bias.at[j]);
        made.at[j] = narrow<T>((ACC)y);
      }
      *(Pack<T, N>*)((T*)p.y + row * p.length + i) = made;
    });
    if (threadIdx.x == 0) {
      if (p.mean != nullptr) ((f32*)p.mean)[row] = (f32)mean;
      if (p.inverse_deviation != nullptr) ((f32*)p.inverse_deviation)[row] = (f32)inverse;
    }
  }
  if (fault) *(volatile int*)p.chain.faults = p.chain.fault;
}

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias, by rows: a block takes a row. x is what `elements` computes, N of ACC at a
// time; a thread keeps PACKS times so many, or computes them each time if PACKS is 0. Statistics, and what is made of them, are in
// double, or in float where IN_FLOAT says that this suffices.
template <class Use> __device__ inline void each_pack(const RowNormalizeParameters& p, i64 row, const Pack<ACC, N>* kept, bool& fault, const Use& use) {
#if PACKS
#pragma unroll
  for (int k = 0; k < PACKS; ++k) {
    const i64 i = (i64)(threadIdx.x + k * THREADS) * N;
    if (i < p.length) use(i, k, kept[k]);
  }
#else
  for (i64 i = (i64)threadIdx.x * N; i < p.length; i += (i64)THREADS * N) use(i, 0, elements<N>(p.chain, (IDX)(row * p.length + i), fault));
#endif
}

typedef Pack<PARAMETER, N> Parameters;

// A thread that keeps few packs asks for their scale and bias before it knows the statistics.
constexpr bool kEarly = PACKS > 0 && PACKS <= 4;
struct Affine {
  Parameters scale[kEarly ? PACKS : 1], bias[kEarly ? PACKS : 1];

  __device__ void load(const RowNormalizeParameters& p, i64 i, int k) {
    if (p.scale != nullptr) scale[k] = *(const Parameters*)((const PARAMETER*)p.scale + i);
    if (p.bias != nullptr) bias[k] = *(const Parameters*)((const PARAMETER*)p.bias + i);
  }
};

// Normalises a row in REAL. False, and nothing is done, where its variance is no normal number of that.
template <class REAL> __device__ inline bool normalize(const RowNormalizeParameters& p, i64 row, const Pack<ACC, N>* kept, Affine& affine, bool& fault) {
  __shared__ REAL shared[32];
  const REAL length = (REAL)p.length;
  REAL mean = 0, squares = 0;
#if CENTRED
  each_pack(p, row, kept, fault, [&](i64, int, const Pack<ACC, N>& x) {
#pragma unroll
    for (int j = 0; j < N; ++j) mean += (REAL)x.at[j];
  });
  mean = fold_block<Sum>(mean, shared) / length;
#endif
  each_pack(p, row, kept, fault, [&](i64, int, const Pack<ACC, N>& x) {
#pragma unroll
    for (int j = 0; j < N; ++j) squares += ((REAL)x.at[j] - mean) * ((REAL)x.at[j] - mean);
  });
  const REAL variance = fold_block<Sum>(squares, shared) / length + (REAL)p.epsilon;
  if (sizeof(REAL) == 4 && !(variance > (REAL)1e-37 && variance < (REAL)1e38)) return false;
  const REAL inverse = 1 / sqrt(variance);
  each_pack(p, row, kept, fault, [&](i64 i, int k, const Pack<ACC, N>& x) {
    if (!kEarly) affine.load(p, i, k = 0);
    Pack<T, N> made;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      REAL y = ((REAL)x.at[j] - mean) * inverse;
      if (p.scale != nullptr) y *= (REAL)wide(affine.scale[k].at[j]);
      if (p.bias != nullptr) y += (REAL)wide(affine.bias[k].at[j]);
      made.at[j] = narrow<T>((ACC)y);
    }
    *(Pack<T, N>*)((T*)p.y + row * p.length + i) = made;
  });
  if (threadIdx.x == 0) {
    if (p.mean != nullptr) ((f32*)p.mean)[row] = (f32)mean;
    if (p.inverse_deviation != nullptr) ((f32*)p.inverse_deviation)[row] = (f32)inverse;
  }
  return true;
}

extern "C" __global__ void __launch_bounds__(THREADS) run(const RowNormalizeParameters p) {
  bool fault = false;
  Affine affine;
#pragma unroll
  for (int k = 0; kEarly && k < PACKS; ++k) {
    const i64 i = (i64)(threadIdx.x + k * THREADS) * N;
    if (i < p.length) affine.load(p, i, k);
  }
  for (i64 row = blockIdx.x; row < p.rows; row += gridDim.x) {
    Pack<ACC, N> kept[PACKS + 1];
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
      const i64 i = (i64)(threadIdx.x + k * THREADS) * N;
      if (i < p.length) kept[k] = elements<N>(p.chain, (IDX)(row * p.length + i), fault);
    }
#if IN_FLOAT
    if (normalize<f32>(p, row, kept, affine, fault)) continue;
#endif
    normalize<f64>(p, row, kept, affine, fault);
  }
  if (fault) *(volatile int*)p.chain.faults = p.chain.fault;
}

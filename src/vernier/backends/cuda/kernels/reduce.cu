// The Reduce operators. T is the type of elements, ACC of sums, FOLD joins two of them, START is the fold of nothing.
// TERM(x) is what an element adds, FINISH(sum) what becomes of it; where SHIFTED is 1, TERM may read `shift`, the
// largest element. A block of THREADS makes LANES neighbouring results, or, where LANES is 0, each thread one.
__device__ inline i64 place(const i64* sizes, const i64* steps, int rank, i64 index) {
  i64 at = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    const i64 size = sizes[axis];
    at += (axis == 0 ? index : index % size) * steps[axis];
    index /= size;
  }
  return at;
}

__device__ inline ACC load(const ReduceParameters& p, i64 start, i64 i) {
  return (ACC)wide(((const T*)p.x)[start + place(p.fold_sizes, p.fold_steps, FOLD_RANK, i)]);
}

#if LANES > 0
// The fold of one value of each thread that works on the same result, for all of them.
template <class F> __device__ inline ACC fold_lanes(ACC x, ACC* shared) {
#if LANES == 1
  return fold_block<F>(x, shared);
#else
  const int thread = threadIdx.x;
  __syncthreads();
  shared[thread] = x;
  for (int half = THREADS / 2; half >= LANES; half /= 2) {
    __syncthreads();
    if (thread < half) shared[thread] = F::of(shared[thread], shared[thread + half]);
  }
  __syncthreads();
  return shared[thread % LANES];
#endif
}
#endif

extern "C" __global__ void run(const ReduceParameters p) {
  const ACC count = (ACC)p.length;
  ACC shift = 0;
#if LANES > 0
  __shared__ ACC shared[THREADS];
  for (i64 first = (i64)blockIdx.x * LANES; first < p.results; first += (i64)gridDim.x * LANES) {
    const i64 result = first + threadIdx.x % LANES, length = result < p.results ? p.length : 0;
    const i64 start = place(p.sizes, p.steps, RANK, result < p.results ? result : 0);
#if SHIFTED
    ACC largest = LOWEST;
    for (i64 i = threadIdx.x / LANES; i < length; i += THREADS / LANES) largest = maximum(largest, load(p, start, i));
    shift = fold_lanes<Maximum>(largest, shared);
#endif
    ACC sum = START;
#pragma unroll 4
    for (i64 i = threadIdx.x / LANES; i < length; i += THREADS / LANES) {
      const ACC x = load(p, start, i);
      sum = FOLD::of(sum, (ACC)(TERM(x)));
    }
    sum = fold_lanes<FOLD>(sum, shared);
    if (threadIdx.x < LANES && result < p.results) ((T*)p.y)[result] = narrow<T>(FINISH(sum));
  }
#else
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 result = (i64)blockIdx.x * blockDim.x + threadIdx.x; result < p.results; result += step) {
    const i64 start = place(p.sizes, p.steps, RANK, result);
#if SHIFTED
    shift = LOWEST;
    for (i64 i = 0; i < p.length; ++i) shift = maximum(shift, load(p, start, i));
#endif
    ACC sum = START;
    for (i64 i = 0; i < p.length; ++i) {
      const ACC x = load(p, start, i);
      sum = FOLD::of(sum, (ACC)(TERM(x)));
    }
    ((T*)p.y)[result] = narrow<T>(FINISH(sum));
  }
#endif
}

// The Reduce operators. T is the type of elements, ACC of sums, FOLD joins two of them, START is the fold of nothing.
// TERM(x) is what an element adds, FINISH(sum) what becomes of it; where SHIFTED is 1, TERM may read `shift`, the
// largest element. A block makes one result, or, where BLOCKS is 0, each thread one.
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

extern "C" __global__ void run(const ReduceParameters p) {
  const ACC count = (ACC)p.length;
  ACC shift = 0;
#if BLOCKS
  __shared__ ACC shared[256];
  for (i64 result = blockIdx.x; result < p.results; result += gridDim.x) {
    const i64 start = place(p.sizes, p.steps, RANK, result);
#if SHIFTED
    ACC largest = LOWEST;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) largest = maximum(largest, load(p, start, i));
    shift = fold_block<Maximum>(largest, shared);
#endif
    ACC sum = START;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const ACC x = load(p, start, i);
      sum = FOLD::of(sum, (ACC)(TERM(x)));
    }
    sum = fold_block<FOLD>(sum, shared);
    if (threadIdx.x == 0) ((T*)p.y)[result] = narrow<T>(FINISH(sum));
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

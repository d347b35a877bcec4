// Works row by row along one axis. T is the type of elements, ACC what is computed in; KIND says what.
#define ARG_EXTREMUM 0
#define CUMULATIVE 1
#define TOP_K 2
__device__ inline bool is_larger(ACC a, ACC b) { return a != a ? b == b : a > b; }

extern "C" __global__ void run(const RowParameters p) {
  const i64 rows = p.outer * p.inner;
#if KIND == TOP_K
  // A block takes a row. The place of an element is the number of those that come before it.
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* x = (const T*)p.x + row / p.inner * p.length * p.inner + row % p.inner;
    const i64 to = row / p.inner * p.kept * p.inner + row % p.inner;
    for (i64 i = threadIdx.x; i < p.length; i += blockDim.x) {
      const ACC mine = wide(x[i * p.inner]);
      i64 place = 0;
      for (i64 k = 0; k < p.length; ++k) {
        const ACC other = wide(x[k * p.inner]);
        const bool before = LARGEST ? is_larger(other, mine) : is_larger(mine, other);
        const bool behind = LARGEST ? is_larger(mine, other) : is_larger(other, mine);
        place += before || (!behind && k < i);
      }
      if (place >= p.kept) continue;
      if (p.y != nullptr) ((T*)p.y)[to + place * p.inner] = x[i * p.inner];
      if (p.indices != nullptr) ((i64*)p.indices)[to + place * p.inner] = i;
    }
  }
#else
  const i64 step = (i64)gridDim.x * blockDim.x;
  for (i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += step) {
    const i64 start = row / p.inner * p.length * p.inner + row % p.inner;
    const T* x = (const T*)p.x + start;
#if KIND == ARG_EXTREMUM
    i64 best = 0;
    ACC extremum = wide(x[0]);
    for (i64 i = 1; i < p.length; ++i) {
      const ACC value = wide(x[i * p.inner]);
      const bool is_nan = value != value, was_nan = extremum != extremum;
      const bool replaces = is_nan || was_nan ? is_nan && (LAST || !was_nan)
                                              : (LARGEST ? value > extremum : value < extremum) || (LAST && value == extremum);
      if (replaces) {
        best = i;
        extremum = value;
      }
    }
    ((i64*)p.y)[row] = best;
#else
    T* y = (T*)p.y + start;
    ACC total = PRODUCT ? (ACC)1 : (ACC)0;
    for (i64 i = 0; i < p.length; ++i) {
      const i64 at = (REVERSE ? p.length - 1 - i : i) * p.inner;
      const ACC value = (ACC)wide(x[at]), next = PRODUCT ? total * value : total + value;
      y[at] = narrow<T>(EXCLUSIVE ? total : next);
      total = next;
    }
#endif
  }
#endif
}

// All programs have this next: packs of elements, folds of a block, indices. 16 bytes, or fewer, at a time.
template <class T, int N> struct alignas(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) Pack { T at[N]; };

// A NaN wins, wherever it comes from: the instructions max and min of the hardware would lose it.
template <class T> __device__ inline T maximum(T a, T b) { return a >= b || a != a ? a : b; }
template <class T> __device__ inline T minimum(T a, T b) { return a <= b || a != a ? a : b; }

struct Sum { template <class T> static __device__ inline T of(T a, T b) { return a + b; } };
struct Product { template <class T> static __device__ inline T of(T a, T b) { return a * b; } };
struct Maximum { template <class T> static __device__ inline T of(T a, T b) { return maximum(a, b); } };
struct Minimum { template <class T> static __device__ inline T of(T a, T b) { return minimum(a, b); } };

// The fold of one value of each thread, for all threads of the block; their number is a power of two.
template <class F, class T> __device__ inline T fold_block(T x, T* shared) {
  const int thread = threadIdx.x;
  if (blockDim.x >= 32) {
    for (int mask = 16; mask > 0; mask /= 2) x = F::of(x, (T)__shfl_xor_sync(0xffffffffu, x, mask));
    if (blockDim.x == 32) return x;
    __syncthreads();
    if (thread % 32 == 0) shared[thread / 32] = x;
    __syncthreads();
    x = shared[0];
    for (int warp = 1; warp < blockDim.x / 32; ++warp) x = F::of(x, shared[warp]);
    return x;
  }
  __syncthreads();
  shared[thread] = x;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) shared[thread] = F::of(shared[thread], shared[thread + half]);
    __syncthreads();
  }
  return shared[0];
}

__device__ inline f64 of_bits(u64 bits) { return __longlong_as_double((i64)bits); }

// An index counted from the front; what is outside of its axis is reported, and read as 0.
__device__ inline i64 resolved(i64 index, i64 size, void* faults, int fault) {
  const i64 at = index < 0 ? index + size : index;
  if (at >= 0 && at < size) return at;
  *(volatile int*)faults = fault;
  return 0;
}


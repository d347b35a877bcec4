// The threads of a warp do these together: products on matrix units, of 16-bit types with sums in f32, and
// exchanges.
//
// A lane's number is 4 * group + place. sums[0], [1] belong to row `group` and columns 2 * place and 2 * place + 1; sums[2], [3] to row group + 8. The words of a hold, of
// rows `group` and group + 8, the factors 2 * place and 2 * place + 1, then those 8 further; the words of b the same of column `group`.
template <class T> __device__ inline void multiply_add(f32 (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1);
template <> __device__ inline void multiply_add<f16>(f32 (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
template <> __device__ inline void multiply_add<bf16>(f32 (&sums)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// As the template of it, by one instruction.
__device__ inline f32 maximum(f32 a, f32 b) {
  f32 larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
// 2 to the power of x, at most 2 ulp off; 0 below the normal numbers.
__device__ inline f32 normal_power_of_two(f32 x) {
  f32 power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// Has 16 bytes come into shared memory while the thread goes on; zeros, where they are not there.
__device__ inline void fetch(void* to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}
// Ends a group of what the thread fetches.
__device__ inline void end_fetches() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all groups that it ended but the last.
__device__ inline void wait_for_fetches_before() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

// The value of the lane whose number differs in the bits of `mask`.
__device__ inline f32 neighbour(f32 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
__device__ inline f64 neighbour(f64 x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }

// Clears what a thread leaves in the upper lanes of the processor's vector registers.
#pragma once

namespace vernier {

// Clears the upper lanes. Whoever leaves numbers there makes each instruction on the lower ones (SSE, as
// compilers write it for any x86-64) wait for the one before: what the thread computes next, whoever wrote
// it, takes ten times as long. Code that compilers make clears them by itself; some libraries do not.
inline void clear_upper_lanes() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx")) asm volatile("vzeroupper" ::: "memory");
#endif
}

}  // namespace vernier

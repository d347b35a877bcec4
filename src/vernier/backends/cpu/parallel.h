// Threads of the CPU backend. They are OpenMP's, because oneDNN's are: two pools would spin against each
// other.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace vernier::cpu {

// Calls body(begin, end) over ranges that cover [0, count), one per thread, each of at least `grain`. `body`
// must not throw. What a range computes must not depend on where it begins.
template <class Body>
void parallel(int64_t count, int64_t grain, const Body& body) {
  const int64_t threads = std::min<int64_t>(omp_get_max_threads(), count / std::max<int64_t>(1, grain));
  if (threads <= 1 || omp_in_parallel()) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(threads))
  {
    const int64_t index = omp_get_thread_num(), all = omp_get_num_threads();
    const int64_t begin = count * index / all, end = count * (index + 1) / all;
    if (begin < end) body(begin, end);
  }
}

}  // namespace vernier::cpu

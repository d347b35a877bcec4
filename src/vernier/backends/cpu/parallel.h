// Threads of the CPU backend. They are libgomp's, because oneDNN's are: two pools would spin against each
// other. The library is called by what compilers call, so that every compiler uses the same one.
#pragma once

#include <algorithm>
#include <cstdint>

extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_max_threads(void);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
int omp_in_parallel(void);
void omp_set_num_threads(int count);
}

namespace vernier::cpu {

// So little work that waking threads, and waiting for the last of them, would cost more than it saves.
inline constexpr double kSerialWork = 4e6;  // floating-point operations, tens of microseconds

// How many threads this much work is worth.
inline int threads_for(double work) {
  return work < kSerialWork ? 1 : omp_get_max_threads();
}

// Libraries that are called while this lives use so many threads.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    if (threads != before_) omp_set_num_threads(threads);
  }
  ~ThreadScope() {
    if (omp_get_max_threads() != before_) omp_set_num_threads(before_);
  }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

// Calls body(begin, end) over ranges that cover [0, count), one per thread, each of at least `grain`. `body`
// must not throw. What a range computes must not depend on where it begins.
template <class Body>
void parallel(int64_t count, int64_t grain, const Body& body) {
  const int64_t threads = std::min<int64_t>(omp_get_max_threads(), count / std::max<int64_t>(1, grain));
  if (threads <= 1 || omp_in_parallel() != 0) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  struct Work {
    int64_t count;
    const Body& body;
  } work{count, body};
  const auto run = [](void* data) {
    const Work& shared = *static_cast<const Work*>(data);
    const int64_t index = omp_get_thread_num(), all = omp_get_num_threads();
    const int64_t begin = shared.count * index / all, end = shared.count * (index + 1) / all;
    if (begin < end) shared.body(begin, end);
  };
  GOMP_parallel(run, &work, static_cast<unsigned>(threads), 0);
}

}  // namespace vernier::cpu

// Threads of the CPU backend: those of the process's pool, whose number is thread_count() (base/threads.h).
// oneDNN's work is run by them, too (onednn/openmp_calls.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "vernier/base/thread_limit.h"
#include "vernier/base/thread_pool.h"
#include "vernier/base/threads.h"

namespace vernier::cpu {

// So little work that waking threads, and waiting for the last of them, would cost more than it saves.
inline constexpr double kSerialWork = 4e6;  // floating-point operations, tens of microseconds
// A core takes as long to read a byte that no cache of its own holds.
inline constexpr double kOperationsPerByte = 8;

// How many threads this much work is worth. `bytes`: of weights, which a product of few rows mostly reads.
inline int threads_for(double operations, double bytes = 0) {
  return std::max(operations, bytes * kOperationsPerByte) < kSerialWork ? 1 : thread_count();
}

// Chunks for each thread: when another process takes a core away, what is left of the work is shared by the
// others.
inline constexpr int64_t kChunksPerThread = 4;

// Calls body(begin, end) over ranges that cover [0, count), each of at least `grain`. `body` must not throw.
// The results of a range must not depend on where it begins.
template <class Body>
void parallel(int64_t count, int64_t grain, const Body& body) {
  const int64_t threads = std::min<int64_t>(thread_count(), count / std::max<int64_t>(1, grain));
  if (threads <= 1 || inside_parallel_work()) {
    if (count > 0) body(int64_t{0}, count);
    return;
  }
  struct Work {
    int64_t count, chunks;
    const Body& body;
  } work{count, std::min(count / std::max<int64_t>(1, grain), threads * kChunksPerThread), body};
  const auto run = [](void* data, int64_t chunk) {
    const Work& shared = *static_cast<const Work*>(data);
    const int64_t begin = shared.count * chunk / shared.chunks;
    const int64_t end = shared.count * (chunk + 1) / shared.chunks;
    if (begin < end) shared.body(begin, end);
  };
  ThreadPool::instance().run(work.chunks, static_cast<int>(threads), {run, &work});
}

}  // namespace vernier::cpu

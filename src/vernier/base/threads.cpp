#include "vernier/base/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "vernier/base/thread_limit.h"
#include "vernier/base/thread_pool.h"

namespace vernier {

namespace {

std::atomic<int> configured_threads{0};
thread_local bool inside_parallel_region = false;
thread_local int limit_of_thread = 0;

// Enough ranges that uneven work balances, few enough that claiming one costs nothing.
constexpr int64_t kMaxRanges = 64;

}  // namespace

int thread_count() {
  if (limit_of_thread > 0) return limit_of_thread;
  if (const int configured = configured_threads.load(); configured > 0) return configured;
  // Asking the system takes microseconds, as long as many operators.
  static const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return cores;
}

ThreadLimit::ThreadLimit(int threads) : before_(limit_of_thread) {
  if (threads > 0) limit_of_thread = threads;
}

ThreadLimit::~ThreadLimit() {
  limit_of_thread = before_;
}

void set_thread_count(int count) {
  configured_threads = std::max(0, count);
}

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t range = std::max({int64_t{1}, grain, (count + kMaxRanges - 1) / kMaxRanges});
  const int64_t ranges = (count + range - 1) / range;
  const int threads = static_cast<int>(std::min<int64_t>(thread_count(), ranges));
  if (threads == 1 || inside_parallel_region) {
    for (int64_t r = 0; r < ranges; ++r) body(r * range, std::min(count, (r + 1) * range));
    return;
  }
  std::atomic<int64_t> next{0};
  std::mutex failure_mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    inside_parallel_region = true;
    try {
      for (int64_t r = next++; r < ranges; r = next++) body(r * range, std::min(count, (r + 1) * range));
    } catch (...) {
      next = ranges;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
    inside_parallel_region = false;
  };
  ThreadPool::instance().run(work, threads - 1);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace vernier

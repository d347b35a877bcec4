#include "vernier/base/threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "vernier/base/thread_limit.h"
#include "vernier/base/thread_pool.h"

namespace vernier {

namespace {

std::atomic<int> configured_threads{0};
thread_local int limit_of_thread = 0;

// Enough ranges that uneven work balances, few enough that claiming one costs nothing.
constexpr int64_t kMaxRanges = 64;

int cores_of_affinity() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // more than a set can hold
}

}  // namespace

int cores_of_quota(const std::string& cpu_max) {
  double quota = 0, period = 0;
  char* end = nullptr;
  quota = std::strtod(cpu_max.c_str(), &end);
  period = std::strtod(end, nullptr);
  return quota > 0 && period > 0 ? std::max(1, static_cast<int>(std::ceil(quota / period))) : 0;
}

int available_cores() {
  std::string quota;
  std::getline(std::ifstream("/sys/fs/cgroup/cpu.max"), quota);
  const int cores = cores_of_affinity(), allowed = cores_of_quota(quota);
  return allowed > 0 ? std::min(cores, allowed) : cores;
}

int thread_count() {
  if (limit_of_thread > 0) return limit_of_thread;
  if (const int configured = configured_threads.load(std::memory_order_relaxed); configured > 0)
    return configured;
  // Asking the system takes microseconds, as long as many operators.
  static const int cores = available_cores();
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
  struct Work {
    int64_t count, range;
    const std::function<void(int64_t, int64_t)>& body;
    std::atomic<bool> failed = false;
    std::mutex mutex = {};
    std::exception_ptr failure = {};
  } work{count, range, body};
  const auto run = [](void* data, int64_t chunk) {
    Work& shared = *static_cast<Work*>(data);
    if (shared.failed.load(std::memory_order_relaxed)) return;
    try {
      shared.body(chunk * shared.range, std::min(shared.count, (chunk + 1) * shared.range));
    } catch (...) {
      const std::lock_guard lock(shared.mutex);
      if (!shared.failure) shared.failure = std::current_exception();
      shared.failed = true;
    }
  };
  ThreadPool::instance().run(ranges, thread_count(), {run, &work});
  if (work.failure) std::rethrow_exception(work.failure);
}

}  // namespace vernier

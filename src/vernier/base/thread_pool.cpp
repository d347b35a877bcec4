#include "vernier/base/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

namespace vernier {

namespace {

// Waking a thread takes the system about as long.
constexpr std::chrono::microseconds kSpin{200};

// Waits a little for what another thread does; false if it did not. Gives way to whoever else wants the core.
template <class Condition>
bool spin_until(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

std::atomic<ThreadPool*> of_process{nullptr};

}  // namespace

ThreadPool& ThreadPool::instance() {
  // Never destroyed: threads may still run when a process ends. What a child inherits of a pool has no
  // threads.
  [[maybe_unused]] static const bool made = [] {
    of_process = new ThreadPool;
    pthread_atfork(nullptr, nullptr, [] { of_process = new ThreadPool; });
    return true;
  }();
  return *of_process;
}

void ThreadPool::run(const std::function<void()>& work, int helpers) {
  Job job{work, helpers};
  {
    const std::lock_guard lock(mutex_);
    grow_to(helpers);
    jobs_.push_back(&job);
    open_ = true;
  }
  for (int i = 0; i < helpers; ++i) work_comes_.notify_one();
  work();
  {
    const std::lock_guard lock(mutex_);
    withdraw(job);
  }
  const auto is_left = [&] { return job.inside.load(std::memory_order_acquire) == 0; };
  if (spin_until(is_left)) return;
  std::unique_lock lock(mutex_);
  helper_left_.wait(lock, is_left);
}

void ThreadPool::grow_to(int threads) {
  try {
    for (; threads_ < threads; ++threads_) {
      std::thread([this] {
        ++begun_;
        begun_.notify_one();
        help();
      }).detach();
    }
  } catch (const std::system_error&) {
    // No more threads: those that there are do it.
  }
  for (int begun = begun_; begun < threads_; begun = begun_) begun_.wait(begun);
}

void ThreadPool::help() {
  for (;;) {
    spin_until([this] { return open_.load(std::memory_order_relaxed); });
    std::unique_lock lock(mutex_);
    work_comes_.wait(lock, [this] { return !jobs_.empty(); });
    help(lock);
  }
}

void ThreadPool::help(std::unique_lock<std::mutex>& lock) {
  Job& job = *jobs_.front();
  ++job.inside;
  if (--job.wanted == 0) withdraw(job);
  lock.unlock();
  job.work();
  lock.lock();
  if (--job.inside == 0) helper_left_.notify_all();  // from here on the job may be gone
}

void ThreadPool::withdraw(const Job& job) {
  std::erase(jobs_, &job);
  open_ = !jobs_.empty();
}

}  // namespace vernier

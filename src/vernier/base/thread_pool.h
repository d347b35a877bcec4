// Threads that wait for work, since making one takes longer than most pieces of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace vernier {

// Of the process. Its threads live until that ends; a forked child starts with none.
class ThreadPool {
 public:
  static ThreadPool& instance();

  // Runs `work` in the caller, and meanwhile in up to `helpers` threads, each of which may come late or not
  // at all, and enters it once. Returns when all have left it. `work` must not throw.
  void run(const std::function<void()>& work, int helpers);

 private:
  struct Job {
    const std::function<void()>& work;
    int wanted;                   // helpers that may still come
    std::atomic<int> inside = 0;  // that have come and not left
  };

  // As far as the system gives them. Waits until they run: whoever begins a thread holds locks of the
  // run-time library (those of sanitizers are many), and a child that is forked meanwhile would wait for them
  // for ever.
  void grow_to(int threads);
  void help();
  void help(std::unique_lock<std::mutex>& lock);
  void withdraw(const Job& job);

  std::mutex mutex_;
  std::condition_variable work_comes_, helper_left_;
  std::vector<Job*> jobs_;          // that want helpers, the oldest first
  std::atomic<bool> open_ = false;  // whether there are any
  int threads_ = 0;
  std::atomic<int> begun_ = 0;
};

}  // namespace vernier

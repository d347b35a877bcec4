// A thread that runs one task after the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace vernier::api {

class Worker {
 public:
  Worker() = default;
  ~Worker();  // after the task under way
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The last task has ended. `task` must not throw. Throws when no thread can be started.
  void post(std::function<void()> task);

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace vernier::api

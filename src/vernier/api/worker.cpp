#include "vernier/api/worker.h"

namespace vernier::api {

Worker::~Worker() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Worker::post(std::function<void()> task) {
  if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  {
    const std::lock_guard lock(mutex_);
    task_ = std::move(task);
  }
  changed_.notify_one();
}

void Worker::serve() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ending_ || task_; });
    if (!task_) return;
    const auto task = std::exchange(task_, nullptr);
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace vernier::api

#include "vernier/base/background_task.h"

#include "vernier/base/thread_pool.h"
#include "vernier/base/threads.h"

namespace vernier {

BackgroundTask::BackgroundTask(std::function<void()> work) : work_(std::move(work)) {
  if (thread_count() < 2) return;
  const auto run = [](void* data, int64_t) { static_cast<BackgroundTask*>(data)->work_(); };
  number_ = ThreadPool::instance().begin_task({run, this});
}

BackgroundTask::~BackgroundTask() {
  finish();
}

bool BackgroundTask::finish() {
  if (number_ >= 0) done_ = ThreadPool::instance().end_task(number_);
  number_ = -1;
  return done_;
}

}  // namespace vernier

#include "vernier/base/errand.h"

#include "vernier/base/thread_pool.h"
#include "vernier/base/threads.h"

namespace vernier {

Errand::Errand(std::function<void()> work) : work_(std::move(work)) {
  if (thread_count() < 2) return;
  const auto run = [](void* data, int64_t) { static_cast<Errand*>(data)->work_(); };
  number_ = ThreadPool::instance().begin_errand({run, this});
}

Errand::~Errand() {
  finish();
}

bool Errand::finish() {
  if (number_ >= 0) done_ = ThreadPool::instance().end_errand(number_);
  number_ = -1;
  return done_;
}

}  // namespace vernier

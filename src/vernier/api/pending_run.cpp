#include "vernier/api/pending_run.h"

namespace vernier::api {

void PendingRun::finish(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  finished_ = true;
  changed_.notify_all();
}

bool PendingRun::finished() {
  const std::lock_guard lock(mutex_);
  return finished_;
}

bool PendingRun::collected() {
  const std::lock_guard lock(mutex_);
  return collected_;
}

std::shared_ptr<OutputsState> PendingRun::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_; });
  collected_ = true;
  auto result = std::move(outputs);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return result;
}

void PendingRun::drop() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_; });
  collected_ = true;
  outputs.reset();
  failure_ = nullptr;
}

}  // namespace vernier::api

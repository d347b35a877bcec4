#include "vernier/api/pending_run.h"

#include "vernier/base/error.h"

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

bool PendingRun::ran_away() const {
  return !finished_ && process_ != ::getpid();
}

std::shared_ptr<OutputsState> PendingRun::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_ || ran_away(); });
  collected_ = true;
  if (ran_away())
    throw unsupported("the run was under way when this process was forked, and goes on in the parent only")
        .advise("fork before it, or make a session in the child");
  auto result = std::move(outputs);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return result;
}

void PendingRun::drop() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_ || ran_away(); });
  collected_ = true;
  outputs.reset();
  failure_ = nullptr;
}

}  // namespace vernier::api

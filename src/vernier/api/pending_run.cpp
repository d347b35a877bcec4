#include "vernier/api/pending_run.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "vernier/base/error.h"

namespace vernier::api {

struct Worker::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> task;
  bool ending = false;
  std::thread thread;

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || task; });
      if (!task) return;
      const auto next = std::exchange(task, nullptr);
      lock.unlock();
      next();
      lock.lock();
    }
  }
};

Worker::Worker() : state_(std::make_unique<State>()), process_(::getpid()) {}

Worker::~Worker() {
  leave_to_parent();
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->changed.notify_one();
  state_->thread.join();
}

void Worker::leave_to_parent() {
  if (process_ == ::getpid()) return;
  auto fresh = std::make_unique<State>();
  state_.release();  // NOLINT(bugprone-unused-return-value): leaked on purpose
  state_ = std::move(fresh);
  process_ = ::getpid();
}

void Worker::post(std::function<void()> task) {
  leave_to_parent();
  State& state = *state_;
  if (!state.thread.joinable()) state.thread = std::thread([&state] { state.serve(); });
  {
    const std::lock_guard lock(state.mutex);
    state.task = std::move(task);
  }
  state.changed.notify_one();
}

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

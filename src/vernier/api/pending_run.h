// A thread that runs one task after the other.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <memory>

#include "vernier/api/engine_state.h"

namespace vernier::api {

class Worker {
 public:
  Worker();
  ~Worker();  // after the task under way
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // The last task has ended. `task` must not throw. Throws when no thread can be started. In a forked child
  // this starts a thread anew: the one before is the parent's.
  void post(std::function<void()> task);

 private:
  struct State;
  // Leaves the thread to the parent process: what a child inherits of a thread cannot be used, nor waited
  // for, nor destroyed.
  void leave_to_parent();

  std::unique_ptr<State> state_;
  pid_t process_;  // whose thread it is
};

// An event and the thread that runs share this.
struct PendingRun {
  std::shared_ptr<OutputsState> outputs;

  explicit PendingRun(std::shared_ptr<OutputsState> to) : outputs(std::move(to)) {}

  void finish(std::exception_ptr failure);  // the thread that runs, once
  bool finished();
  // Whether the event was waited for or dropped, so that the session is free again.
  bool collected();
  // Throws what the run threw, and unsupported in a child that was forked while it was under way.
  std::shared_ptr<OutputsState> wait();
  void drop() noexcept;

 private:
  bool ran_away() const;  // unfinished, in a process that its thread is not of

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  bool finished_ = false, collected_ = false;
};

}  // namespace vernier::api

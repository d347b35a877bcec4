#pragma once

#include <unistd.h>

#include <condition_variable>

#include "vernier/api/outputs_state.h"

namespace vernier::api {

// What an event and the thread that runs share.
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

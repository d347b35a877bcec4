// A thread that runs one task after the other.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

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
  // What a child inherits of a thread cannot be used, nor waited for, nor destroyed.
  void leave_to_parent();

  std::unique_ptr<State> state_;
  pid_t process_;  // whose thread it is
};

}  // namespace vernier::api

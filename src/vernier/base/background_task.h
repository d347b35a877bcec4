// Work that another thread does while the caller does something else.
#pragma once

#include <functional>

namespace vernier {

// A thread of the pool that is free begins it, soon or never: whoever needs the result and finds that it was
// not begun does the work itself, and so never waits for a thread that has not begun.
class BackgroundTask {
 public:
  // `work` must not throw. With one thread (thread_count()), or in the midst of parallel work, it is not
  // begun.
  explicit BackgroundTask(std::function<void()> work);
  ~BackgroundTask();
  BackgroundTask(const BackgroundTask&) = delete;
  BackgroundTask& operator=(const BackgroundTask&) = delete;

  // Whether the work was done, or is when this returns; if not, it never will be.
  bool finish();

 private:
  std::function<void()> work_;
  int number_ = -1;  // of the pool's; -1: it is over
  bool done_ = false;
};

}  // namespace vernier

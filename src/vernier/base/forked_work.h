// Work that is done in a forked child process: what crashes, hangs or is killed there ends the child alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace vernier {

// How far the work in a child is. It lies in memory that parent and child share.
class ForkedProgress {
 public:
  // In the child: it now does this, and has the whole time limit for it.
  void begin(uint64_t task) noexcept {
    task_.store(task, std::memory_order_relaxed);
    steps_.fetch_add(1, std::memory_order_release);
  }
  // In the parent: what was begun last, and how often something was begun. No step: the work did not begin.
  uint64_t task() const noexcept { return task_.load(std::memory_order_relaxed); }
  uint64_t steps() const noexcept { return steps_.load(std::memory_order_acquire); }

 private:
  std::atomic<uint64_t> task_{0}, steps_{0};
};

struct ForkedResult {
  std::string answer;   // what the work gave
  std::string failure;  // or how the child ended: "crashed: signal 11 (Segmentation fault)"; "": well
  uint64_t task = 0;    // what the work had begun last
};

// Runs `work` in a child process and waits for it. The child is a copy of this process, so that the work sees
// all of its memory; what it changes there is lost, and only the text that it gives comes back. It runs in a
// thread that the child makes: a library of threads may wait for ever for threads that the thread that forked
// has left behind in the parent. The work must not throw, and must call
// ForkedProgress::begin() first of all.
//
// A child that begins nothing new for `step_seconds` is killed. It is also killed where this process ends, by
// a signal or in any other way. The child leaves no zombie, no dump of its memory, and no file.
//
// Throws unsupported where the system gives no process, or where the child ends before the work has begun.
ForkedResult run_forked(const std::function<std::string(ForkedProgress&)>& work, double step_seconds);

}  // namespace vernier

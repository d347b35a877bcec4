#pragma once

namespace vernier {

// While this lives, parallel_for called from this thread uses at most so many threads; 0 changes nothing.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

}  // namespace vernier

// Mapped files that somebody cuts off. Reading a mapping behind the end of its file raises SIGBUS, which
// would end the process; for the ranges that are guarded here the read gives zeros instead, and the loss is
// noted.
#pragma once

#include <cstddef>

namespace vernier {

// While this lives, a range of whole pages that reads of no more file behind them leave as zeros. The first
// one installs a handler of SIGBUS for the process. It hands every other fault on to the handler that it
// found. A program that installs a handler of its own later, without calling the one before, switches the
// guard off.
class TruncationGuard {
 public:
  TruncationGuard(const void* begin, size_t bytes);
  ~TruncationGuard();
  TruncationGuard(const TruncationGuard&) = delete;
  TruncationGuard& operator=(const TruncationGuard&) = delete;

  // Whether something was read that the file no longer had, or that could not be read.
  bool was_cut() const;

 private:
  struct Range;
  friend struct GuardedRanges;
  Range* range_;
};

}  // namespace vernier

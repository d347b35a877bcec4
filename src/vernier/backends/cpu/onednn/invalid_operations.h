// Whether arithmetic of the threads met a NaN where it compares, or made one; or, if asked, a subnormal
// number.
#pragma once

#include <atomic>

#include "vernier/backends/cpu/parallel.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace vernier::cpu {

// x86 processors keep sticky flags for both: maxps, minps and ordered comparisons raise that of invalid
// operations for quiet NaNs, too, and that of denormal operands. Flags belong to a thread, so the threads
// that libgomp would give the work are asked one by one.
class InvalidOperations {
 public:
#if defined(__x86_64__)
  static constexpr bool kAreSeen = true;

  // From now on, in so many threads.
  explicit InvalidOperations(int threads, bool and_subnormals = false)
      : threads_(threads), flags_(and_subnormals ? kInvalid | kDenormal : kInvalid), before_(_mm_getcsr()) {
    parallel(threads_, 1, [this](int64_t, int64_t) { _mm_setcsr(_mm_getcsr() & ~flags_); });
  }
  // The caller's flags stay as sticky as they were.
  ~InvalidOperations() {
    _mm_setcsr(_mm_getcsr() | (before_ & flags_));
  }

  bool seen() const {
    std::atomic<bool> result = false;
    parallel(threads_, 1, [&](int64_t, int64_t) {
      if ((_mm_getcsr() & flags_) != 0) result.store(true, std::memory_order_relaxed);
    });
    return result;
  }
#else
  static constexpr bool kAreSeen = false;
  explicit InvalidOperations(int threads, bool = false) : threads_(threads) {}
  bool seen() const {
    return threads_ > 0;
  }
#endif
  InvalidOperations(const InvalidOperations&) = delete;
  InvalidOperations& operator=(const InvalidOperations&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kInvalid = 1, kDenormal = 2;  // of MXCSR
#endif
  int threads_;
#if defined(__x86_64__)
  unsigned flags_, before_;
#endif
};

}  // namespace vernier::cpu

// Whether arithmetic of oneDNN met a NaN where it compares, or made one; or, if asked, a subnormal number.
#pragma once

#include <atomic>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace vernier::cpu {

// x86 processors keep sticky flags for both: maxps, minps and ordered comparisons raise that of invalid
// operations for quiet NaNs, too, and that of denormal operands. Flags belong to a thread: the calling one is
// looked at as it is, and those that run the regions of oneDNN that it begins (openmp_calls.h) tell what they
// raised.
class InvalidOperations {
 public:
#if defined(__x86_64__)
  static constexpr bool kAreSeen = true;

  // From now on.
  explicit InvalidOperations(bool and_subnormals = false)
      : flags_(and_subnormals ? kInvalid | kDenormal : kInvalid), before_(_mm_getcsr()), outer_(of_thread_) {
    _mm_setcsr(before_ & ~flags_);
    of_thread_ = this;
  }
  // The caller's flags stay as sticky as they were.
  ~InvalidOperations() {
    of_thread_ = outer_;
    _mm_setcsr(_mm_getcsr() | (before_ & flags_));
  }

  bool seen() const {
    return ((_mm_getcsr() | raised_.load(std::memory_order_relaxed)) & flags_) != 0;
  }

  // Gives the one of the calling thread; null: it does not look.
  static InvalidOperations* of_thread() {
    return of_thread_;
  }
  // Runs `work` in another thread, or this one, and notes the flags that it raises.
  template <class Work>
  void watch(const Work& work) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before & ~flags_);
    work();
    const unsigned after = _mm_getcsr();
    if ((after & flags_) != 0) raised_.fetch_or(after, std::memory_order_relaxed);
    _mm_setcsr(after | (before & flags_));
  }
#else
  static constexpr bool kAreSeen = false;
  explicit InvalidOperations(bool = false) {}
  bool seen() const {
    return true;
  }
  static InvalidOperations* of_thread() {
    return nullptr;
  }
  template <class Work>
  void watch(const Work& work) {
    work();
  }
#endif
  InvalidOperations(const InvalidOperations&) = delete;
  InvalidOperations& operator=(const InvalidOperations&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr unsigned kInvalid = 1, kDenormal = 2;  // of MXCSR
  unsigned flags_, before_;
  std::atomic<unsigned> raised_ = 0;
  InvalidOperations* outer_;
  static inline thread_local InvalidOperations* of_thread_ = nullptr;
#endif
};

}  // namespace vernier::cpu

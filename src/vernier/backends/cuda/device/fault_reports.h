// Kernels report data that an operator has no value for: an index outside of its axis, a division of integers
// by zero.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "vernier/backends/cuda/device/context.h"

namespace vernier::cuda {

// The numbers by which kernels report, each that of a node and of what is wrong there. Thread-safe.
class FaultReports {
 public:
  // The number, never 0, that a kernel is to write.
  int number_of(const std::string& node, const std::string& what);
  // Throws bad_input, naming the node, for a number that was written; nothing for 0.
  void tell(int number) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, int> numbers_;
};

// A word of memory that host and device see: a kernel that meets such data writes its number there, and
// whoever waits for the kernel takes it. Of several reports one is kept.
class FaultWord {
 public:
  explicit FaultWord(const Context& context);
  ~FaultWord();
  FaultWord(const FaultWord&) = delete;
  FaultWord& operator=(const FaultWord&) = delete;

  // Where kernels write, as device and host know it.
  int* address() const { return word_; }
  // Takes what was written since the last time; 0: nothing.
  int take();

 private:
  const Context& context_;
  int* word_ = nullptr;
};

}  // namespace vernier::cuda

// How long reference runs may take: a model, or a simulation of what an engine may have done, need not end.
#pragma once

#include <chrono>

namespace vernier {

// While this lives, reference runs of this thread end with an Error once the time is over, before their next
// node. Of limits inside each other the one that ends first counts.
class RunLimit {
 public:
  explicit RunLimit(double seconds);
  ~RunLimit();
  RunLimit(const RunLimit&) = delete;
  RunLimit& operator=(const RunLimit&) = delete;

  // Whether the time of this thread is over.
  static bool is_over();
  // Throws unsupported if it is.
  static void check();

 private:
  std::chrono::steady_clock::time_point before_;
};

}  // namespace vernier

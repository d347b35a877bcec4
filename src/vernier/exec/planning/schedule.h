// Which steps of a plan wait for which.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// Gives steps on accelerators their streams, and every step what it has to wait for so that its inputs are
// there. What lies in memory that is used again is for place_slots to keep in order.
void schedule(Plan& plan);

// Which steps have ended before others begin, as streams and waits say.
class StepOrder {
 public:
  explicit StepOrder(const Plan& plan);

  // Whether step `a` has ended before `b` begins, whatever the streams do. The end of the plan counts as a
  // step: all have ended before it.
  bool before(size_t a, size_t b) const;

 private:
  std::vector<std::vector<bool>> before_;  // by step; empty where all run on the caller's thread
};

}  // namespace vernier

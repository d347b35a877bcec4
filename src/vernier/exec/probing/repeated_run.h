// A run that is finished in several ways: what differs at one step needs none of the steps before it again.
#pragma once

#include "vernier/exec/execution.h"

namespace vernier {

class RepeatedRun {
 public:
  // Whether a plan can be run so: each of its steps has a kernel.
  static bool serves(const Plan& plan);

  // `execution` outlives this, and does nothing else meanwhile.
  RepeatedRun(Execution& execution, std::vector<Datum> inputs);

  size_t step() const { return step_; }  // the next one
  void advance();                        // runs it
  // The outputs of a run from that step to the end, which advance() knows nothing of. They are there until
  // the next call.
  const std::vector<Datum>& run_rest();

 private:
  // When memory is first written, and last read, by step.
  struct Lifetime {
    size_t first = SIZE_MAX, last = 0;
  };
  struct Area {
    void* at;
    std::vector<std::byte> content;
  };

  void keep();
  void give_back();

  Execution& execution_;
  std::vector<Datum> inputs_, outputs_;
  std::vector<Lifetime> lifetimes_;  // by slot that owns memory
  std::vector<Area> kept_;           // what was there before run_rest()
  size_t step_ = 0;
};

}  // namespace vernier

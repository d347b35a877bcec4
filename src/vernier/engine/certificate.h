// A certificate says what was proven of an engine when it was built: whether it computes what its plan
// promises, and what the plan costs. Its file keeps it.
#pragma once

#include <string>
#include <vector>

#include "vernier/compare/verdict.h"

namespace vernier {

struct Certificate {
  // Relative L2 distances of an output, the worst over the samples; NaN where they were not compared.
  struct Output {
    std::string name;
    double planned = 0;   // from the reference that rounds as the plan does: must be rounding noise
    double declared = 0;  // from the model as it is declared: the price of the plan
    double ideal = 0;     // from the model without any rounding: that of the model's own types, too
  };

  Verdict verdict = Verdict::kNotCompared;  // against the planned reference
  std::vector<std::string> reasons;         // of the verdict
  std::vector<std::string> samples;         // where each came from
  std::vector<std::string> notes;           // what was left out for want of time
  std::vector<Output> outputs;
};

}  // namespace vernier

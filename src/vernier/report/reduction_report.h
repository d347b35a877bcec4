// The report on a reduction: what is left, what still shows, and how it came so far (docs/reduction.md).
#pragma once

#include <map>
#include <string>

#include "vernier/reduce/reduce.h"

namespace vernier {

// Holds what `diagnose` names as the cause, of the whole model and of what is left.
struct ReductionCauses {
  std::string before, after;  // classes, "B32", or "none"
};

struct ReductionReport {
  std::map<std::string, std::string> options, environment;
  Reduction reduction;
  std::optional<ReductionCauses> causes;
  std::string folder;
  std::vector<std::string> files;
};

// `detailed`: with options and environment.
std::string reduction_text(const ReductionReport& report, bool detailed);
// Schema "vernier-reduction", version 1.
std::string reduction_json(const ReductionReport& report);

}  // namespace vernier

#include "vernier/report/report.h"

namespace vernier {

Verdict Report::verdict() const {
  Verdict result = comparisons.empty() ? Verdict::kNotCompared : Verdict::kPass;
  for (const ComparisonResult& comparison : comparisons) result = worst(result, comparison.verdict);
  return result;
}

}  // namespace vernier

#pragma once

#include "vernier/inspect/model_summary.h"

namespace vernier {

// Statistics of one tensor; min, max and the counts stay zero for strings and complex numbers.
WeightSummary summarize_weight(const std::string& name, const Tensor& tensor);

}  // namespace vernier

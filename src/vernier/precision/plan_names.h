// Plan files and reports use these names.
#pragma once

#include <string_view>

#include "vernier/precision/plan.h"

namespace vernier {

// "user", "rule", "range", "search" or "declared".
std::string_view by_name(LayerPrecision::By by);
// The type in which a layer computes: that of its elements, or "tf32".
std::string_view compute_name(const LayerPrecision& layer);

}  // namespace vernier

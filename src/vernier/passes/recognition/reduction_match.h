// The Reduce operators in patterns.
#pragma once

#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/match.h"

namespace vernier {

// The axes that a Reduce node takes, from 0 on; nothing if they are not known.
std::optional<std::vector<int64_t>> reduced_axes_of(const Node& reduction);
inline bool keeps_axes(const Node& reduction) {
  return ops::integer_attribute(reduction, "keepdims") != 0;
}

}  // namespace vernier

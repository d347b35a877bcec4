#pragma once

#include <optional>

#include "vernier/ir/graph.h"

namespace vernier {

struct RangeViolation {
  const char* rule;  // "B32-range"
  std::string text;
};

// What the first result of a node breaks of the range that its operator has, by the values that are known of
// what it reads and makes.
std::optional<RangeViolation> range_violation(const Node& node, const NamedData& values);

}  // namespace vernier

// What one use of a value demands of its elements, for operators where an arbitrary value would be an error
// or would give NaN. Internal to the room.
#pragma once

#include <optional>

#include "vernier/data/random/graph_uses.h"
#include "vernier/data/random/value_rule.h"

namespace vernier {

// The demand of `use`, or nothing. Bounds and intervals are about the elements that the node reads.
std::optional<ValueRule> rule_of_use(const Use& use);

}  // namespace vernier

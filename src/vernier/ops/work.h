// Counts what a node has to do, as far as its sizes are known, for reports and rooflines.
#pragma once

#include <optional>

#include "vernier/ir/graph.h"

namespace vernier::ops {

// Floating-point operations of one run; of a group those of its nodes. Nothing where a size is not known.
std::optional<double> flops_of(const Node& node);
// Bytes of all inputs and outputs, each once.
std::optional<double> bytes_of(const Node& node);

}  // namespace vernier::ops

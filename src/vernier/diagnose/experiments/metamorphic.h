// Any engine must keep to these, whatever it computes: checks that need no reference.
#pragma once

#include <optional>

#include "vernier/check/check.h"
#include "vernier/exec/runner.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct RangeViolation {
  const char* rule;  // "B32-range"
  std::string text;
};

// Tells how the first result of a node breaks the range of its operator, by the values that are known of what
// it reads and makes.
std::optional<RangeViolation> range_violation(const Node& node, const NamedData& values);

// Runs the engine on the inputs and judges what it shows of itself:
// - ranges: what a Clip, Relu, Sigmoid, Tanh or Softmax yields lies within its range, rows of a Softmax add
// up to
//   one, what pooling yields lies within what it reads;
// - repeatability: the same inputs give the same answer, also after a run on others;
// - rows: where all inputs and outputs have the batch for their first axis, equal samples have equal answers,
// and
//   samples in another order have their answers in that order. Whether the model treats samples apart is
//   asked of the reference, where that runs it.
// Throws what the engine throws.
std::vector<Finding> metamorphic_findings(const Model& model, Runner& runner, const NamedData& inputs);

}  // namespace vernier

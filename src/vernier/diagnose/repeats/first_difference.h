#pragma once

#include <functional>

#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// A value that differs between two runs which should be alike, although what its node reads does not.
struct FirstDifference {
  const Node* node = nullptr;  // of the graph of the first run
  std::string value;
  Tensor first, second;
};

// Finds the first difference, in execution order, of two runs of the same graph, or of two engines for the
// same model. `differ` says which tensors count as different. Nothing if no value does that both show.
using Differ = std::function<bool(const Tensor&, const Tensor&)>;
std::optional<FirstDifference> first_difference(const ShownRun& first, const ShownRun& second,
                                                const Differ& differ);
// Bit for bit.
std::optional<FirstDifference> first_difference(const ShownRun& first, const ShownRun& second);

// The inputs of the model that are not what they should be when they are read: every node of which the
// results differ first, between runs on the same inputs, reads one of them, and whoever reads it differs.
// Empty where that is not so.
std::vector<std::string> late_inputs(const std::vector<ShownRun>& runs, const NamedData& inputs);

}  // namespace vernier

#pragma once

#include <functional>

#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

// A value that differs between two runs which should be alike, although what its node reads does not.
struct FirstDifference {
  const Node* node = nullptr;  // of the graph of the first run
  std::string value;
  Tensor first, second;
};

// Of two runs of the same graph, or of two engines for the same model: in execution order. `differ` says
// which tensors count as different. Nothing if no value does that both show.
using Differ = std::function<bool(const Tensor&, const Tensor&)>;
std::optional<FirstDifference> first_difference(const ShownRun& first, const ShownRun& second,
                                                const Differ& differ);
// Bit for bit.
std::optional<FirstDifference> first_difference(const ShownRun& first, const ShownRun& second);

}  // namespace vernier

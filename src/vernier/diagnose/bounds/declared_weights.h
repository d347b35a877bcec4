// The weights of a plan as the model has them, before the plan rounded them to narrow floats.
#pragma once

#include <map>

#include "vernier/ir/graph.h"

namespace vernier {

class DeclaredWeights {
 public:
  // The graph of the model, which outlives this; null: nothing is known.
  explicit DeclaredWeights(const Graph* declared) : declared_(declared) {}

  // A weight of the model that becomes this one when it is rounded to its type. This one itself where there
  // is none: passes have made it of others.
  const Tensor& of(const Tensor& narrow);

 private:
  using ByContent = std::map<uint64_t, Tensor>;

  const Graph* declared_;
  std::map<ElementType, ByContent> rounded_;  // by what they become
};

}  // namespace vernier

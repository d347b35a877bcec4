// The sizes that free dimensions are tuned at where nobody gave any.
#pragma once

#include "vernier/compile/compiler.h"
#include "vernier/data/data_source.h"

namespace vernier {

// Whether all inputs are tensors whose sizes the graph gives.
bool has_fixed_sizes(const Graph& graph);

struct AutomaticSizes {
  std::vector<ValueType> inputs;  // empty: nothing is known to suit the model
  std::optional<Sample> sample;   // drawn at these sizes
  std::string note;               // which sizes these are, or why there are none
};

// Chooses the sizes of the first sample; without samples 1 for each free dimension, and where the model
// refuses that, inference or a run of it, the sizes of random inputs. A plan is prepared for what is found.
// Throws what Compiler::prepare throws, and what a sample that does not suit the model makes it throw.
AutomaticSizes automatic_sizes(Compiler& compiler, const Model& model, const std::vector<Sample>& samples,
                               uint64_t seed);

}  // namespace vernier

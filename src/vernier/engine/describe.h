// An engine as people read of it.
#pragma once

#include "vernier/engine/engine.h"

namespace vernier {

struct StepDescription {
  std::string kernel, reason;      // one of them is ""
  std::vector<std::string> nodes;  // of ONNX
  std::string contract;            // "" for a change of layout
};

std::vector<StepDescription> describe_steps(const Plan& plan);
// "x f32[1, 3, 224, 224], mask i64[1, 128]"
std::string sizes_text(const Graph& graph, const std::vector<ValueType>& inputs);
// The types of the graph's inputs as these data have them; defaults for those that are left out. Throws what
// bind_inputs throws.
std::vector<ValueType> input_types(const Graph& graph, const NamedData& inputs);
size_t constant_bytes(const Graph& graph);

}  // namespace vernier

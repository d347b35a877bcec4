// Kernels of the simulated device for the nodes of a graph in text form.
#pragma once

#include "vernier/backends/simulated/simulated_backend.h"
#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/ir/text.h"

namespace vernier::simulated {

inline std::optional<Operand> operand_of(const Value* value) {
  if (value == nullptr) return std::nullopt;
  const TensorType& type = value->type.tensor;
  const Dims dims = type.shape ? to_dims(*type.shape).value() : Dims{};
  return Operand{type.element, dims, Layout::kPlain, value->is_constant() ? &*value->constant : nullptr};
}

inline KernelRequest request_for(const Node& node) {
  KernelRequest request{node, {}, {}};
  for (const Value* input : node.inputs) request.inputs.push_back(operand_of(input));
  for (const Value* output : node.outputs) request.outputs.push_back(operand_of(output));
  return request;
}

inline Model parse_graph(const std::string& graph) {
  return parse_model("model ir=10 opset \"\" 21 {\n" + graph + "\n}\n");
}

// A graph with one node, "the node": "%y: f32[2] = Neg(%a)".
inline Model one_node(const std::string& inputs, const std::string& line, const std::string& constant = "") {
  return parse_graph("graph \"g\" (" + inputs + ") -> (%y) {\n" + constant + "\n" + line +
                     " version 21 @\"the node\" from [\"the node\"]\n}");
}

}  // namespace vernier::simulated

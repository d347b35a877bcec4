// Makes the requests for the nodes of a graph in text form.
#pragma once

#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/ir/text.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

inline std::optional<Operand> operand_of(const Value* value) {
  if (value == nullptr || !value->type.is_tensor()) return std::nullopt;
  const TensorType& type = value->type.tensor;
  const auto dims = type.shape ? to_dims(*type.shape) : std::nullopt;
  if (!dims) return std::nullopt;
  return Operand{type.element, *dims, Layout::kPlain, value->is_constant() ? &*value->constant : nullptr};
}

// Nothing where an operand is no tensor of known sizes.
inline std::optional<KernelRequest> known_request(const Node& node) {
  KernelRequest request{node, {}, {}};
  for (const Value* input : node.inputs) {
    request.inputs.push_back(operand_of(input));
    if (input != nullptr && !request.inputs.back()) return std::nullopt;
  }
  for (const Value* output : node.outputs) {
    request.outputs.push_back(operand_of(output));
    if (output != nullptr && !request.outputs.back()) return std::nullopt;
  }
  return request;
}

// A graph with one node, "the node": "%y: f32[2] = Neg(%a)".
inline Model one_node(const std::string& inputs, const std::string& line, const std::string& constant = "") {
  return parse_model("model ir=10 opset \"\" 21 {\ngraph \"g\" (" + inputs + ") -> (%y) {\n" + constant +
                     "\n" + line + " version 21 @\"the node\" from [\"the node\"]\n}\n}\n");
}

// A graph of the nodes of these lines.
inline Model nodes(const std::string& inputs, const std::vector<std::string>& lines,
                   const std::string& constant = "", const std::string& outputs = "%y") {
  std::string text =
      "model ir=10 opset \"\" 21 {\ngraph \"g\" (" + inputs + ") -> (" + outputs + ") {\n" + constant + "\n";
  for (const std::string& line : lines) {
    const std::string name = std::to_string(&line - lines.data());
    text += line + " version 21 @\"" + name + "\" from [\"" + name + "\"]\n";
  }
  return parse_model(text + "}\n}\n");
}

// The same as one group of the kind.
inline Model one_group(const std::string& inputs, const std::vector<std::string>& lines,
                       const std::string& kind, const std::string& constant = "",
                       const std::string& outputs = "%y") {
  Model model = nodes(inputs, lines, constant, outputs);
  std::vector<Node*> members;
  for (const auto& node : model.graph->nodes()) members.push_back(node.get());
  ops::make_group(*model.graph, members, kind);
  return model;
}

}  // namespace vernier::cuda

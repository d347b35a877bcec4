// Runs and infers single operators, for tests of operators.
#pragma once

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ops/op_def.h"

namespace vernier::ops {

struct OneNode {
  std::string op;
  int64_t version = 0;
  AttributeMap attributes;
  std::string domain;
  size_t outputs = 1;

  OneNode(std::string op_name, int64_t opset, AttributeMap with = {}, std::string of_domain = "",
          size_t output_count = 1)
      : op(std::move(op_name)),
        version(opset),
        attributes(std::move(with)),
        domain(std::move(of_domain)),
        outputs(output_count) {}

  std::unique_ptr<Node> make(const std::vector<Value*>& inputs, Graph& graph) const {
    auto node = std::make_unique<Node>();
    node->name = node->op = op;
    node->domain = domain;
    node->version = version;
    node->attributes = attributes;
    node->inputs = inputs;
    for (size_t i = 0; i < outputs; ++i) node->outputs.push_back(graph.add_value("out" + std::to_string(i)));
    return node;
  }

  // The outputs for these inputs; an undefined tensor is an input left out. `roundings` are those of a plan.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs, ReferenceMode mode = ReferenceMode::kDeclared,
                          const InnerRoundings& roundings = {}) const {
    Model model;
    model.graph = std::make_unique<Graph>();
    std::vector<Value*> values;
    std::map<std::string, Datum> data;
    for (size_t i = 0; i < inputs.size(); ++i) {
      values.push_back(nullptr);
      if (!inputs[i].is_defined()) continue;
      const std::string name = "in" + std::to_string(i);
      values.back() =
          model.graph->add_input(name, ValueType::of(inputs[i].type(), to_shape(inputs[i].dims())));
      data[name] = inputs[i];
    }
    const Node* node = model.graph->add_node(make(values, *model.graph));
    model.graph->outputs = node->outputs;
    PlannedRoundings planned;
    planned.inside[node] = roundings;
    std::vector<Tensor> results;
    for (const Datum& output : run_reference(model, data, {.mode = mode, .planned = &planned}).outputs)
      results.push_back(output.as_tensor());
    return results;
  }

  // The first output as doubles.
  std::vector<double> reals(const std::vector<Tensor>& inputs,
                            ReferenceMode mode = ReferenceMode::kDeclared) const {
    return run(inputs, mode)[0].to_doubles();
  }

  // Gives what inference makes of the first output.
  ValueInfo infer(const std::vector<ValueInfo>& inputs) const {
    Graph graph;
    const auto node = make(std::vector<Value*>(inputs.size(), nullptr), graph);
    std::vector<const ValueInfo*> known;
    for (const ValueInfo& input : inputs) known.push_back(&input);
    InferContext context(*node, known);
    OpRegistry::instance().require(*node).infer(context);
    return context.outputs()[0];
  }
};

inline Tensor reals_of(ElementType type, Dims dims, const std::vector<double>& values) {
  return Tensor::from_doubles(type, std::move(dims), values);
}
inline Tensor floats(Dims dims, const std::vector<double>& values) {
  return reals_of(ElementType::kFloat, std::move(dims), values);
}
inline Tensor ints(Dims dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt64, std::move(dims), values);
}

// A tensor of which only the type is known.
inline ValueInfo typed(ElementType type, const Shape& shape) {
  ValueInfo info;
  info.type = ValueType::of(type, shape);
  return info;
}
// A vector whose content is followed.
inline ValueInfo followed(ElementType type, const std::vector<Dim>& content) {
  ValueInfo info;
  info.type = ValueType::of(type, Shape{static_cast<int64_t>(content.size())});
  info.dims = content;
  return info;
}

}  // namespace vernier::ops

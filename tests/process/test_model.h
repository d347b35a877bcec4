// Small models and data for the tests of runners.
#pragma once

#include <filesystem>

#include "source_dir.h"
#include "vernier/backends/process/onnxruntime.h"
#include "vernier/ir/graph.h"

namespace vernier {

inline Node* add_op(Graph& graph, const std::string& name, const std::string& op, std::vector<Value*> inputs,
                    Value* output) {
  auto node = std::make_unique<Node>();
  node->name = name;
  node->op = op;
  node->version = 17;
  node->inputs = std::move(inputs);
  node->outputs = {output};
  node->provenance = {name};
  return graph.add_node(std::move(node));
}

// x f32[n, 3] -> scaled = x * factor -> y = softmax(scaled), z = exp(scaled)
inline Model softmax_model() {
  Model model;
  model.ir_version = 8;
  model.opsets = {{"", 17}};
  model.graph = std::make_unique<Graph>();
  Graph& graph = *model.graph;
  const ValueType type = ValueType::of(ElementType::kFloat, Shape{Dim::symbol("n"), 3});
  Value* x = graph.add_input("x", type);
  Value* factor = graph.add_constant("factor", Tensor::from<float>(ElementType::kFloat, {3}, {1, 2, 0.5F}));
  Value* scaled = graph.add_value("scaled", type);
  Value* y = graph.add_value("y", type);
  Value* z = graph.add_value("z", type);
  add_op(graph, "scale", "Mul", {x, factor}, scaled);
  add_op(graph, "normalise", "Softmax", {scaled}, y);
  add_op(graph, "grow", "Exp", {scaled}, z);
  graph.outputs = {y, z};
  return model;
}

// x f32[n, 3] -> y seq(map(string, f32))
inline Model zip_map_model() {
  Model model;
  model.ir_version = 8;
  model.opsets = {{"ai.onnx.ml", 1}};
  model.graph = std::make_unique<Graph>();
  Graph& graph = *model.graph;
  Value* x = graph.add_input("x", ValueType::of(ElementType::kFloat, Shape{Dim::symbol("n"), 3}));
  const ValueType map = ValueType::map(ElementType::kString, ValueType::of(ElementType::kFloat));
  Value* y = graph.add_value("y", ValueType::sequence(map));
  Node* zip = add_op(graph, "zip", "ZipMap", {x}, y);
  zip->domain = "ai.onnx.ml";
  zip->version = 1;
  zip->attributes["classlabels_strings"] = std::vector<std::string>{"versicolor", "", "setosa"};
  graph.outputs = {y};
  return model;
}

// Only the types of its outputs matter: y f32[3], z f32[2].
inline Model two_output_model() {
  Model model;
  model.graph = std::make_unique<Graph>();
  Value* y = model.graph->add_input("y", ValueType::of(ElementType::kFloat, Shape{3}));
  Value* z = model.graph->add_input("z", ValueType::of(ElementType::kFloat, Shape{2}));
  model.graph->outputs = {y, z};
  return model;
}

inline std::string child_command(const std::string& script, const std::string& arguments = "") {
  const std::filesystem::path folder = test::source_dir() / "tests/process/children";
  return fmt::format("exec {} {} {}", quoted_for_shell(find_python("")),
                     quoted_for_shell((folder / script).string()), arguments);
}

}  // namespace vernier

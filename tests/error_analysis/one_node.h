// Models of one node, and what its errors are compared by.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "vernier/error_analysis/expected_error.h"
#include "vernier/ir/text.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

inline constexpr ElementType kF32 = ElementType::kFloat;

inline NumericsContract in_float() {
  return {
      .computed = kF32, .accumulated = kF32, .stored = kF32, .order = NumericsContract::Order::kSequential};
}

inline Tensor noise(Dims dims, uint64_t seed, ElementType type = kF32) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = normal(random);
  return Tensor::from_doubles(type, std::move(dims), values);
}

// The last node of a graph with its operands, which are the graph's inputs.
struct OneNode {
  Model model;
  std::vector<Tensor> operands;

  OneNode(const std::string& text, std::vector<Tensor> given)
      : model(parse_model(text)), operands(std::move(given)) {
    ops::infer_types(*model.graph);
  }
  const Node& node() const { return *model.graph->nodes().back(); }
  ElementErrors errors(const NumericsContract& contract) const {
    return ErrorModel(node(), operands).outputs(contract).at(0);
  }
};

// All nodes of the graph as one group.
inline Model grouped(const std::string& graph) {
  Model model = parse_model("model ir=8 {\n" + graph + "\n}");
  ops::infer_types(*model.graph);
  std::vector<Node*> members;
  for (const auto& node : model.graph->nodes()) members.push_back(node.get());
  ops::make_group(*model.graph, members, "test");
  return model;
}

}  // namespace vernier

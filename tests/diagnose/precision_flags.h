// A node of a small graph as a flagged node, with what a faulty engine makes of it.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "vernier/diagnose/causes/reproduction.h"
#include "vernier/ir/text.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

inline Tensor real_tensor(Dims dims, const std::vector<double>& values,
                          ElementType type = ElementType::kFloat) {
  return Tensor::from_doubles(type, std::move(dims), values);
}

inline Tensor drawn(Dims dims, uint64_t seed, double mean = 0, double deviation = 1,
                    ElementType type = ElementType::kFloat) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, deviation);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = normal(random);
  return Tensor::from_doubles(type, std::move(dims), values);
}

// `values` are the inputs; constants are in the text, or those inputs that are named in `weights`, of which
// the graph has the content then. Every node is run by the reference.
class PlantedGraph {
 public:
  PlantedGraph(const std::string& graph, std::map<std::string, Tensor> values,
               const std::set<std::string>& weights = {})
      : model_(parse_model("model ir=8 {\n" + graph + "\n}")), values_(std::move(values)) {
    for (const auto& value : model_.graph->values()) {
      if (!weights.contains(value->name)) continue;
      value->constant = values_.at(value->name);
      std::erase(model_.graph->inputs, value.get());
    }
    ops::infer_types(*model_.graph);
    for (const auto& node : model_.graph->nodes()) {
      const auto results = ops::evaluate(*node, pointers(*node));
      for (size_t i = 0; i < results.size(); ++i) values_[node->outputs[i]->name] = results[i].tensor;
    }
  }

  const Tensor& value(const std::string& name) const { return values_.at(name); }
  const Graph& graph() const { return *model_.graph; }
  const Node& node(const std::string& name) const {
    for (const auto& node : model_.graph->nodes()) {
      if (node->name == name) return *node;
    }
    throw internal_error("no node {}", name);
  }

  FlaggedNode flagged(const std::string& name, const Tensor& made) const {
    const Node& named = node(name);
    FlaggedNode flagged;
    flagged.node = &named;
    flagged.made = {made};
    for (const Tensor* input : pointers(named))
      flagged.inputs.push_back(input == nullptr ? Tensor() : *input);
    NumericsContract contract;
    contract.computed = contract.accumulated = ElementType::kFloat;
    contract.stored = named.output(0)->type.tensor.element;
    contract.order = NumericsContract::Order::kSequential;
    flagged.expected = ErrorModel(named, flagged.inputs).outputs(contract);
    flagged.worst = deviation(flagged.expected[0], made);
    EXPECT_FALSE(flagged.worst.is_rounding()) << "nothing is wrong with it";
    return flagged;
  }
  HypothesisContext context() const {
    return {graph(), [this](const Value& value) { return known(value); }, nullptr};
  }
  // Gives the reproduction for an engine that makes `made` at the node.
  Reproduction diagnosed(const std::string& name, const Tensor& made) const {
    return reproduce(flagged(name, made), context());
  }
  std::string failure(const std::string& name, const Tensor& made) const {
    const auto result = diagnosed(name, made);
    return result.cause ? result.cause->failure.code() : "unexplained";
  }

 private:
  const Tensor* known(const Value& value) const {
    if (value.is_constant()) return &*value.constant;
    const auto found = values_.find(value.name);
    return found == values_.end() ? nullptr : &found->second;
  }
  std::vector<const Tensor*> pointers(const Node& node) const {
    std::vector<const Tensor*> operands;
    for (const Value* input : node.inputs) operands.push_back(input == nullptr ? nullptr : known(*input));
    return operands;
  }

  Model model_;
  std::map<std::string, Tensor> values_;
};

}  // namespace vernier

// Cases in text, and an oracle that asks a predicate instead of an engine.
#pragma once

#include <gmock/gmock.h>

#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/reduce/shrinking.h"

namespace vernier {

inline Tensor drawn(Dims dims, uint64_t seed = 1) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>((seed * 2654435761U + i * 40503U) % 1999) / 1000.0 - 1;
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

inline ReproCase parsed_case(const std::string& graph, NamedData inputs) {
  ReproCase made{parse_model("model ir=8 opset \"\" 17 { " + graph + " }"), std::move(inputs)};
  ops::infer_types(*made.model.graph);
  return made;
}

class FakeOracle : public ReductionOracle {
 public:
  // Whether the case still shows it.
  using Predicate = std::function<bool(const ReproCase&)>;
  explicit FakeOracle(Predicate shows) : shows_(std::move(shows)) {}

  Judgement judge(const ReproCase& reproduction) override {
    ++judged;
    Judgement judgement;
    if (shows_(reproduction)) {
      judgement.symptom.kind = Symptom::Kind::kWrong;
      judgement.symptom.error = 1;
      judgement.symptom.sentence = "it is wrong";
      for (const Value* output : reproduction.model.graph->outputs)
        judgement.symptom.outputs.push_back(output->name);
    }
    return judgement;
  }

  size_t judged = 0;

 private:
  Predicate shows_;
};

inline size_t count_of(const ReproCase& reproduction, const std::string& op) {
  size_t count = 0;
  for_each_graph(*reproduction.model.graph, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) count += node->op == op ? 1 : 0;
  });
  return count;
}

inline bool has_node(const ReproCase& reproduction, const std::string& name) {
  bool found = false;
  for_each_graph(*reproduction.model.graph, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) found |= node->name == name;
  });
  return found;
}

}  // namespace vernier

// Faults that are planted at one node: a model as text, and what an engine makes in its place, which another
// model, or the same one on other data, says.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/causes/reproduction.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

inline Model parse_planted(const std::string& graph, int opset) {
  Model model = parse_model(fmt::format("model ir=10 opset \"\" {} {{\n{}\n}}", opset, graph));
  ops::infer_types(*model.graph);
  return model;
}

// Inputs that are not given, normal for floats, of small numbers for integers.
inline NamedData drawn_data(const Graph& graph, const NamedData& given = {}) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  NamedData data = given;
  for (const Value* input : graph.inputs) {
    if (data.contains(input->name)) continue;
    const Dims dims = *to_dims(*input->type.tensor.shape);
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = normal(random);
    data[input->name] = Tensor::from_doubles(input->type.tensor.element, dims, values);
  }
  return data;
}

// Gives what an engine makes of the data where it should run the model: the outputs of the model, in order.
using FaultyEngine = std::function<Tensors(const Model& model, const NamedData& data)>;

inline Tensors outputs_of(const Model& model, const NamedData& data) {
  Tensors outputs;
  for (const Datum& datum : run_reference(model, data).outputs) outputs.push_back(datum.tensor);
  return outputs;
}

// It runs another model.
inline FaultyEngine runs(const std::string& graph, int opset = 18) {
  return [=](const Model&, const NamedData& data) { return outputs_of(parse_planted(graph, opset), data); };
}
// It reads an input otherwise.
inline FaultyEngine reads(const std::string& input, const std::function<Tensor(const Tensor&)>& change) {
  return [=](const Model& model, const NamedData& data) {
    NamedData other = data;
    other[input] = change(data.at(input).tensor);
    return outputs_of(model, other);
  };
}
// It writes the first output otherwise.
inline FaultyEngine writes(const std::function<Tensor(const Tensor&)>& change) {
  return [=](const Model& model, const NamedData& data) {
    Tensors outputs = outputs_of(model, data);
    outputs[0] = change(outputs[0]);
    return outputs;
  };
}

// The last node of a model, of which the engine made other results than it should; the outputs of the model
// are those of the node, in order.
class Planted {
 public:
  Planted(const Model& model, const FaultyEngine& engine, const NamedData& given)
      : model_(model), data_(drawn_data(*model.graph, given)) {
    InterpreterOptions options;
    options.observe = [&](const Value& value, const Datum& datum) { values_[value.name] = datum; };
    const auto sound = run_reference(model_, data_, options).outputs;
    flagged_.node = model_.graph->nodes().back().get();
    for (const Value* input : flagged_.node->inputs)
      flagged_.inputs.push_back(input == nullptr ? Tensor() : *find(*input));
    flagged_.made = engine(model, data_);
    for (const Datum& datum : sound) {
      constexpr double kRounding = 1e-6;
      ElementErrors& errors = flagged_.expected.emplace_back();
      errors.value = datum.tensor;
      if (is_float(datum.tensor.type()))
        errors.error.assign(static_cast<size_t>(datum.tensor.size()), kRounding);
    }
  }

  // Gives all causes that are proposed, in words.
  std::vector<std::string> proposed() const {
    const HypothesisContext context{*model_.graph, [this](const Value& value) { return find(value); },
                                    nullptr};
    std::vector<std::string> all;
    const Members members(flagged_);
    for (const Member& member : members.all()) {
      for (const Hypothesis& hypothesis : hypotheses()) {
        std::vector<Proposal> proposals;
        try {
          hypothesis.propose(member, flagged_, context, proposals);
        } catch (const Error&) {  // the family cannot read the node
        }
        for (const Proposal& proposal : proposals) all.push_back(proposal.what);
      }
    }
    return all;
  }

  Reproduction reproduction() const {
    return reproduce(flagged_, {*model_.graph, [this](const Value& value) { return find(value); }, nullptr});
  }

 private:
  const Tensor* find(const Value& value) const {
    if (value.is_constant()) return &*value.constant;
    for (const NamedData* known : {&values_, &data_}) {
      if (const auto found = known->find(value.name); found != known->end()) return &found->second.tensor;
    }
    return nullptr;
  }

  const Model& model_;
  NamedData data_, values_;
  FlaggedNode flagged_;
};

struct PlantedFault {
  const char* name;
  const char* failure;  // "B31"
  std::string model;    // whose last node is called "n"
  FaultyEngine engine;
  NamedData data = {};
  int opset = 18;
};

inline void PrintTo(const PlantedFault& fault, std::ostream* out) {
  *out << fault.name;
}

inline void expect_found(const PlantedFault& fault) {
  const Model model = parse_planted(fault.model, fault.opset);
  const Reproduction found = Planted(model, fault.engine, fault.data).reproduction();
  const auto best = found.others.empty() ? Simulated() : found.others.front();
  ASSERT_TRUE(found.cause) << "none of " << found.tried << "; the best is " << best.what << ", which leaves "
                           << best.residual;
  EXPECT_EQ(found.cause->failure.code(), fault.failure) << found.cause->what;
  EXPECT_EQ(found.cause->nodes, std::vector<std::string>{"n"});
  constexpr double kPenalty = 0.26;  // of causes that can mimic others
  EXPECT_LT(found.cause->residual, kPenalty) << found.cause->what;
}

// If the engine makes noise, this is no cause of it.
inline void expect_nothing_in_noise(const PlantedFault& fault) {
  const Model model = parse_planted(fault.model, fault.opset);
  const FaultyEngine noise = [&](const Model&, const NamedData& data) {
    std::mt19937_64 random(3);
    const Tensors right = outputs_of(model, data);
    Tensors outputs = fault.engine(model, data);
    for (size_t i = 0; i < outputs.size(); ++i) {
      // The error counts relative to the right result: beside that much less is all alike.
      double squares = 0;
      for (const double value : right[i].to_doubles()) squares += std::isfinite(value) ? value * value : 0;
      std::normal_distribution<double> normal(0, std::sqrt(squares / static_cast<double>(right[i].size())));
      std::vector<double> values(static_cast<size_t>(outputs[i].size()));
      for (double& value : values) value = normal(random);
      outputs[i] = Tensor::from_doubles(outputs[i].type(), outputs[i].dims(), values);
    }
    return outputs;
  };
  const Reproduction found = Planted(model, noise, fault.data).reproduction();
  const bool seen = found.cause && found.cause->failure.code() == fault.failure;
  EXPECT_FALSE(seen) << found.cause->what;
}

inline std::string name_of(const testing::TestParamInfo<PlantedFault>& info) {
  return info.param.name;
}

// A suite of faults, each of which is found, and nothing in its place in noise.
#define VERNIER_PLANTED(Suite, faults)                          \
  class Suite : public testing::TestWithParam<PlantedFault> {}; \
  TEST_P(Suite, IsFound) {                                      \
    expect_found(GetParam());                                   \
  }                                                             \
  TEST_P(Suite, IsNotSeenInNoise) {                             \
    expect_nothing_in_noise(GetParam());                        \
  }                                                             \
  INSTANTIATE_TEST_SUITE_P(Planted, Suite, testing::ValuesIn(faults), name_of)

// A model of one node "n" that makes %y, of inputs like "%x: f32[2, 3], %k: i64[4]".
inline std::string of_floats(const std::string& inputs, const std::string& node) {
  return fmt::format("graph \"g\" ({}) -> (%y) {{\n %y: f32[*] = {} @\"n\" from [\"n\"]\n}}", inputs, node);
}
inline std::string of_integers(const std::string& inputs, const std::string& node) {
  return fmt::format("graph \"g\" ({}) -> (%y) {{\n %y: i64[*] = {} @\"n\" from [\"n\"]\n}}", inputs, node);
}

inline Tensor integers(Dims dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt64, std::move(dims), values);
}
inline Tensor floats(Dims dims, const std::vector<double>& values) {
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

}  // namespace vernier

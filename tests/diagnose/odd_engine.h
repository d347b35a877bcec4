// Engines in this process that go wrong, and are hard to look into: the reference, on another model than
// theirs.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "vernier/backends/reference/reference_runner.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

struct OddOptions {
  std::function<void(Model&)> plant = {};  // makes it wrong
  std::set<std::string> heals = {};        // where one of these is shown, nothing is planted
  std::set<std::string> taps_shown = {};   // the others are left out of traces; empty: all are shown
  bool refuses_taps = false;               // a run that is to show something is an error
  size_t most_outputs = SIZE_MAX;          // models with more are refused
  std::string fails_with = {};             // a run of a model with this node is an error
  std::shared_ptr<int> runs = std::make_shared<int>(0);
};

inline Node* find_node(const Model& model, const std::string& name) {
  for (const auto& node : model.graph->nodes()) {
    if (node->name == name) return node.get();
  }
  return nullptr;
}

// Takes the second operand of a node for ones. A model without the node stays as it is.
inline std::function<void(Model&)> without_factor(const std::string& name) {
  return [name](Model& model) {
    Node* node = find_node(model, name);
    if (node == nullptr) return;
    Value* factor = node->inputs[1];
    const std::vector<double> ones(static_cast<size_t>(factor->constant->size()), 1);
    factor->constant = Tensor::from_doubles(factor->constant->type(), factor->constant->dims(), ones);
  };
}

class OddRunner : public Runner {
 public:
  OddRunner(const RunnerModel& model, OddOptions options)
      : model_(*model.model), options_(std::move(options)) {
    if (model_.graph->outputs.size() > options_.most_outputs) throw unsupported("too many outputs");
  }

  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return {}; }
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override {
    ++*options_.runs;
    if (find_node(model_, options_.fails_with) != nullptr)
      throw bad_input("no answer within 1 s").at_node("");
    if (options_.refuses_taps && !taps.empty()) throw unsupported("no inner values");
    Model made = clone(model_);
    bool heals = std::any_of(taps.begin(), taps.end(),
                             [&](const std::string& tap) { return options_.heals.contains(tap); });
    for (const Value* output : made.graph->outputs) heals = heals || options_.heals.contains(output->name);
    if (options_.plant && !heals) options_.plant(made);
    std::vector<std::string> shown = taps;
    if (!options_.taps_shown.empty())
      std::erase_if(shown, [&](const std::string& tap) { return !options_.taps_shown.contains(tap); });
    NamedData read;
    for (const Value* input : made.graph->inputs) read[input->name] = inputs.at(input->name);
    return ReferenceRunner({"", &made}).run(read, shown);
  }

 private:
  const Model& model_;
  OddOptions options_;
  std::string name_ = "odd";
};

// A model of ten nodes, k0 to k9, which make n0 to n8 and y: two of them are scaled by a constant (k3, k8).
struct OddEngine {
  Model model;
  NamedData inputs, plain, right;
  std::unique_ptr<OddRunner> runner;
  std::unique_ptr<RunnerUnderTest> tested;

  explicit OddEngine(OddOptions options, bool takes_others = true, const std::string& other_model = "")
      : model(other_model.empty() ? chain() : parsed(other_model)) {
    inputs["x"] = noise({4, 8}, 99);
    MakeRunner make = [options](const RunnerModel& other, double) {
      return std::make_unique<OddRunner>(other, options);
    };
    runner = std::make_unique<OddRunner>(RunnerModel{"", &model}, options);
    tested = std::make_unique<RunnerUnderTest>(*runner, model, takes_others ? make : MakeRunner());
    right["y"] = run_reference(model, inputs).outputs.at(0);
    if (options.fails_with.empty()) plain = tested->run(inputs);
  }

  static Tensor noise(Dims dims, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = normal(random);
    return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
  }

  static Model parsed(const std::string& text) {
    Model model = parse_model(text);
    ops::infer_types(*model.graph);
    return model;
  }

  static Model chain() {
    Model model = parse_model(R"(model ir=8 opset "" 17 { graph "g" (%x: f32[4, 8]) -> (%y) {
      const %s = f32[1] hex"0000003e"
      const %t = f32[1] hex"00004040"
      const %w0 = f32[1] hex"0000803f"
      const %w1 = f32[1] hex"0000803f"
      const %w2 = f32[1] hex"0000803f"
      %n0: f32[*] = MatMul(%x, %w0) version 17 @"k0" from ["k0"]
      %n1: f32[*] = Relu(%n0) version 17 @"k1" from ["k1"]
      %n2: f32[*] = MatMul(%n1, %w1) version 17 @"k2" from ["k2"]
      %n3: f32[*] = Mul(%n2, %s) version 17 @"k3" from ["k3"]
      %n4: f32[*] = Softmax(%n3) version 17 @"k4" from ["k4"]
      %n5: f32[*] = MatMul(%n4, %w2) version 17 @"k5" from ["k5"]
      %n6: f32[*] = Add(%n5, %n1) version 17 @"k6" from ["k6"]
      %n7: f32[*] = Tanh(%n6) version 17 @"k7" from ["k7"]
      %n8: f32[*] = Mul(%n7, %t) version 17 @"k8" from ["k8"]
      %y: f32[*] = Relu(%n8) version 17 @"k9" from ["k9"]
    } })");
    uint64_t seed = 1;
    for (const auto& value : model.graph->values()) {
      if (value->is_constant() && value->name[0] == 'w') {
        value->constant = noise({8, 8}, seed++);
        value->type = ValueType::of(ElementType::kFloat, to_shape(value->constant->dims()));
      }
    }
    ops::infer_types(*model.graph);
    return model;
  }
};

}  // namespace vernier

// Tests that a check which raises no false alarm is worth something: an element that is ten bounds off is
// found, wherever it is.
#include <random>

#include "diagnose/planted.h"
#include "vernier/builder/builder.h"
#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/under_test/built_engine.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {
namespace {

// Convolutions, a normalisation, products, attention's softmax, and what lies between.
Model network() {
  return parse_graph(
      R"(graph "g" (%x: f32[2, 8, 6, 6], %w: f32[8, 8, 3, 3], %m: f32[36, 36], %s: f32[36], %b: f32[36]) -> (%y) {
    %a: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"conv" from ["conv"]
    %r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
    %f: f32[*] = Flatten(%r) {axis = 2} version 13 @"flat" from ["flat"]
    %n: f32[*] = LayerNormalization(%f, %s, %b) version 17 @"norm" from ["norm"]
    %q: f32[*] = MatMul(%n, %m) version 13 @"queries" from ["queries"]
    %t: f32[*] = Transpose(%n) {perm = ints[1, 0]} version 13 @"keys" from ["keys"]
    %l: f32[*] = MatMul(%q, %t) version 13 @"logits" from ["logits"]
    %p: f32[*] = Softmax(%l) {axis = -1} version 13 @"softmax" from ["softmax"]
    %v: f32[*] = MatMul(%p, %n) version 13 @"values" from ["values"]
    %e: f32[*] = Exp(%v) version 13 @"exp" from ["exp"]
    %z: f32[*] = Add(%e, %q) version 14 @"sum" from ["sum"]
    %y: f32[*] = Sigmoid(%z) version 13 @"gate" from ["gate"]
  })");
}

// The expected error of each element of a value that the engine shows, from the reference's own inputs.
std::map<std::string, std::vector<double>> expected_errors(const BuiltEngineUnderTest& tested,
                                                           const ShownRun& shown, const NamedData& inputs) {
  std::map<std::string, std::vector<double>> errors;
  InterpreterOptions options;
  options.planned = &shown.roundings;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
    std::vector<Tensor> in;
    for (const Datum* operand : operands) in.push_back(operand == nullptr ? Tensor() : operand->tensor);
    const auto found = shown.contracts.find(&node);
    const auto contract = found == shown.contracts.end() ? tested.assumed_contract(node) : found->second;
    const auto expected = ErrorModel(node, in).outputs(contract);
    for (size_t i = 0; i < results.size(); ++i) {
      const auto made = shown.values.find(node.outputs[i]->name);
      if (made == shown.values.end() || expected[i].is_exact()) continue;
      errors[node.outputs[i]->name] = expected[i].error;
      results[i] = made->second;
    }
  };
  run_reference(*shown.graph, inputs, options);
  return errors;
}

TEST(Power, AnElementThatIsTenBoundsOffIsFound) {
  const Model model = network();
  const auto engine = build_on_demand(model, BuildOptions{});
  EngineRunner runner(engine);
  BuiltEngineUnderTest tested(runner);
  std::mt19937_64 random(1);
  size_t planted = 0, found = 0, alarms = 0;
  for (int round = 0; planted < 1000; ++round) {
    const NamedData inputs{{"x", wave({2, 8, 6, 6}, 0.7 + 0.01 * round)},
                           {"w", wave({8, 8, 3, 3}, 1.3)},
                           {"m", wave({36, 36}, 2.9)},
                           {"s", wave({36}, 3.1)},
                           {"b", wave({36}, 1.7)}};
    ShownRun shown = tested.show(inputs);
    alarms += check_on_own_inputs(tested, shown, inputs).flagged_nodes.size();
    for (const auto& [name, errors] : expected_errors(tested, shown, inputs)) {
      Tensor& tensor = shown.values.at(name).tensor;
      const Tensor sound = tensor;
      auto values = tensor.to_doubles();
      const size_t element = random() % values.size();
      // Where no error is expected (behind a Relu) everything is ten times the bound.
      const double bound = std::max(kLargestDeviation * errors[element], std::abs(values[element]) * 1e-6);
      values[element] += 10 * (random() % 2 == 0 ? bound : -bound) + (bound == 0 ? 1e-6 : 0);
      tensor = Tensor::from_doubles(tensor.type(), tensor.dims(), values);
      ++planted;
      const auto check = check_on_own_inputs(tested, shown, inputs);
      found += std::any_of(check.flagged_nodes.begin(), check.flagged_nodes.end(),
                           [&, &planted_at = name](const FlaggedNode& flagged) {
                             return flagged.node->outputs[flagged.output]->name == planted_at;
                           });
      tensor = sound;
    }
  }
  EXPECT_GE(static_cast<double>(found), 0.99 * static_cast<double>(planted));
  EXPECT_EQ(alarms, 0);
  RecordProperty("planted", static_cast<int>(planted));
  RecordProperty("found", static_cast<int>(found));
}

}  // namespace
}  // namespace vernier

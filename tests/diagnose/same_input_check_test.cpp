// An error is found at the node that makes it, however small, and at no other.
#include "vernier/diagnose/experiments/same_input_check.h"

#include "diagnose/planted.h"
#include "vernier/diagnose/under_test/runner_under_test.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Model chain() {
  Model model = parse_graph(R"(graph "g" (%x: f32[4, 8], %w: f32[8, 8]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
    %b: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
    %c: f32[*] = Add(%b, %x) version 14 @"sum" from ["sum"]
    %y: f32[*] = Softmax(%c) {axis = -1} version 13 @"softmax" from ["softmax"]
  })");
  return model;
}

std::vector<std::string> flagged_nodes(const Plant& plant) {
  const Model model = chain();
  PlantedRunner runner(model, plant);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({4, 8}, 0.7)}, {"w", wave({8, 8}, 1.3)}};
  const ShownRun shown = tested.show(inputs);
  const auto check = check_on_own_inputs(tested, shown, inputs);
  EXPECT_EQ(check.nodes, 4);
  std::vector<std::string> names;
  for (const FlaggedNode& flagged : check.flagged_nodes) names.push_back(flagged.node->name);
  return names;
}

TEST(SameInputCheck, FindsNothingInASoundEngine) {
  EXPECT_THAT(flagged_nodes(nullptr), IsEmpty());
  EXPECT_THAT(flagged_nodes(add_to_element("product", 3, 1e-8)), IsEmpty());  // less than a rounding
}

TEST(SameInputCheck, FindsAnErrorWhereItIsMadeAndNotWhereItArrives) {
  for (const char* node : {"product", "relu", "sum", "softmax"})
    EXPECT_THAT(flagged_nodes(add_to_element(node, 3, 1e-3)), ElementsAre(node));
}

TEST(SameInputCheck, TellsSeveralErrorsApart) {
  const Plant both = [](const Node& node, std::span<const Datum* const> operands,
                        std::vector<Datum>& results) {
    add_to_element("product", 1, 0.1)(node, operands, results);
    add_to_element("softmax", 5, 0.1)(node, operands, results);
  };
  EXPECT_THAT(flagged_nodes(both), ElementsAre("product", "softmax"));
}

// However many nodes are wrong, what is kept of them is bounded; the others are counted.
TEST(SameInputCheck, KeepsAsManyTensorsAsThereIsMemoryFor) {
  const Model model = chain();
  const Plant all = [](const Node&, std::span<const Datum* const>, std::vector<Datum>& results) {
    results[0] = wave(results[0].tensor.dims(), 0.4);
  };
  PlantedRunner runner(model, all);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({4, 8}, 0.7)}, {"w", wave({8, 8}, 1.3)}};
  const ShownRun shown = tested.show(inputs);
  SameInputOptions options;
  EXPECT_EQ(check_on_own_inputs(tested, shown, inputs, options).flagged_nodes.size(), 4);
  options.most_bytes = 1;
  const auto check = check_on_own_inputs(tested, shown, inputs, options);
  ASSERT_EQ(check.flagged_nodes.size(), 1);
  EXPECT_EQ(check.flagged_nodes[0].node->name, "product");
  EXPECT_EQ(check.not_kept, 3);
  EXPECT_EQ(check.nodes, 4);
}

// Behaviour that ONNX leaves open is no fault as long as the outputs are right.
TEST(SameInputCheck, LetsANanVanishFromAWindow) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[1, 1, 4, 4]) -> (%y) {
    %y: f32[*] = MaxPool(%x) {kernel_shape = ints[2, 2]} version 12 @"pool" from ["pool"]
  })");
  const Plant loses = [](const Node&, std::span<const Datum* const>, std::vector<Datum>& results) {
    results[0] = wave(results[0].tensor.dims(), 0.7);
  };
  PlantedRunner runner(model, loses);
  RunnerUnderTest tested(runner, model, nullptr);
  const Tensor dead = Tensor::from_doubles(ElementType::kFloat, {1, 1, 4, 4}, std::vector<double>(16, NAN));
  const NamedData inputs{{"x", dead}};
  const ShownRun shown = tested.show(inputs);
  SameInputOptions options;
  EXPECT_EQ(check_on_own_inputs(tested, shown, inputs, options).flagged_nodes.size(), 1);
  options.nan_may_vanish = true;
  EXPECT_THAT(check_on_own_inputs(tested, shown, inputs, options).flagged_nodes, IsEmpty());
}

TEST(SameInputCheck, FindsNaN) {
  EXPECT_THAT(flagged_nodes(add_to_element("sum", 0, NAN)), ElementsAre("sum"));
}

// Flushes what is below `least` to zero, and tells whether the check finds that in exponentials of x.
bool finds_flushing(double least, const std::vector<double>& x) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"exponential" from ["exponential"]
  })");
  const Plant flush = [&](const Node&, std::span<const Datum* const>, std::vector<Datum>& results) {
    for (float& each : results[0].tensor.mutable_values<float>()) each = each < least ? 0 : each;
  };
  PlantedRunner runner(model, flush);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", Tensor::from_doubles(ElementType::kFloat, {4}, x)}};
  return !check_on_own_inputs(tested, tested.show(inputs), inputs).flagged_nodes.empty();
}

TEST(SameInputCheck, SubnormalNumbersBesideOthersMayBeFlushed) {
  constexpr double kLeastNormal = 0x1p-126;
  EXPECT_FALSE(finds_flushing(kLeastNormal, {0, -1, -95, -100}));
  EXPECT_TRUE(finds_flushing(2 * kLeastNormal, {0, -1, -87, -100}));  // exp(-87) is normal
  EXPECT_TRUE(finds_flushing(kLeastNormal, {-95, -96, -95, -100}));   // nothing is left
}

// Freedom in NaN excuses no integer.
TEST(SameInputCheck, AWrongIntegerOfAWindowIsNotExcused) {
  const Model model = parse_graph(R"(graph "g" (%x: i8[1, 1, 4, 4]) -> (%y) {
    %y: i8[*] = MaxPool(%x) {kernel_shape = ints[2, 2]} version 12 @"pool" from ["pool"]
  })");
  PlantedRunner runner(model, add_to_element("pool", 3, 5));
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", Tensor(ElementType::kInt8, {1, 1, 4, 4})}};
  SameInputOptions options;
  options.nan_may_vanish = true;
  EXPECT_EQ(check_on_own_inputs(tested, tested.show(inputs), inputs, options).flagged_nodes.size(), 1U);
}

}  // namespace
}  // namespace vernier

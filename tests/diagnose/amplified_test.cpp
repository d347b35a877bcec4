// Rounding that a model makes large: by feedback and by decisions; and errors beside an Inf.
#include <cmath>

#include "diagnose/diagnosed.h"
#include "vernier/diagnose/bounds/derived_bounds.h"
#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/hypotheses/precision/narrow_format.h"

namespace vernier {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kFedBack =
    R"(graph "g" (%x: f32[4, 16], %w: f32[16, 16]) -> (%y) {
    const %trips = i64[] hex"2800000000000000"
    const %yes = bool[] hex"01"
    %y: f32[*] = Loop(%trips, %yes, %x) version 16 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %c: bool[], %v: f32[4, 16]) -> (%c, %next) {
        %p: f32[*] = MatMul(%v, %w) version 13 @"p" from ["p"]
        %next: f32[*] = Tanh(%p) version 13 @"t" from ["t"]
      }
    }
  })";

Tensor times(const Tensor& tensor, double factor) {
  auto values = tensor.to_doubles();
  for (double& value : values) value *= factor;
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

NamedData fed_back(double gain) {
  return {{"x", wave({4, 16}, 0.7)}, {"w", times(wave({16, 16}, 1.3), gain)}};
}

// The engine rounds otherwise than the reference, and adds that to one of the results.
std::vector<FlaggedNode> flagged_of_loop(double gain, double added) {
  const Model model = parse_graph(kFedBack);
  const NamedData inputs = fed_back(gain);
  const auto noisy = run_reference(model, inputs, {.noise_seed = 99}).outputs;
  PlantedRunner runner(
      model, [&](const Node& node, std::span<const Datum* const> operands, std::vector<Datum>& results) {
        results[0] = noisy[0];
        add_to_element("loop", 3, added)(node, operands, results);
      });
  RunnerUnderTest tested(runner, model, nullptr);
  return check_on_own_inputs(tested, tested.show(inputs), inputs).flagged_nodes;
}

TEST(Amplified, ALoopMayMakeOfRoundingWhatNoiseMakesOfIt) {
  EXPECT_THAT(flagged_of_loop(3, 0), IsEmpty());
  EXPECT_THAT(flagged_of_loop(0.05, 0), IsEmpty());
  EXPECT_THAT(flagged_of_loop(0.05, 0.1), SizeIs(1));
}

TEST(Amplified, AModelIsAsIllConditionedAsItsOwnTypesMakeIt) {
  const Model plain = parse_graph(R"(graph "g" (%x: f32[4]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"y" from ["y"] })"),
              half = parse_graph(R"(graph "g" (%x: f32[4]) -> (%y) {
    %h: f16[*] = Cast(%x) {to = 10} version 13 @"h" from ["h"]
    %y: f32[*] = Cast(%h) {to = 1} version 13 @"y" from ["y"] })"),
              quantized = parse_graph(R"(graph "g" (%x: f32[4]) -> (%y) {
    const %s = f32[] hex"0000003f"
    %q: u8[*] = QuantizeLinear(%x, %s) version 13 @"q" from ["q"]
    %y: f32[*] = DequantizeLinear(%q, %s) version 13 @"y" from ["y"] })");
  for (const Model* model : {&plain, &half, &quantized}) ops::infer_types(*model->graph);
  EXPECT_EQ(own_amplification(*plain.graph, 0.5), 0x1p23);
  EXPECT_EQ(own_amplification(*half.graph, 0.5), 0x1p10);
  EXPECT_EQ(own_amplification(*quantized.graph, 0.5), 0);
}

// Adds a unit in the last place to every other element, so that what was a tie is none.
Plant another_order(const std::string& node_name) {
  return [=](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (node.name != node_name) return;
    auto values = results[0].tensor.to_doubles();
    for (size_t i = 1; i < values.size(); i += 2) values[i] *= 1 + 0x1p-22;
    results[0] = Tensor::from_doubles(ElementType::kFloat, results[0].tensor.dims(), values);
  };
}

const NamedData kPairs{{"x", real_tensor({1, 4}, {1, 1, 1, 1})},
                       {"w", real_tensor({4, 4}, {1, 1, 3, 3, 1, 1, 3, 3, 1, 1, 3, 3, 1, 1, 3, 3})},
                       {"table", real_tensor({4, 2}, {1, 2, -3, 4, 5, -6, -7, 8})}};

TEST(Amplified, ADecisionThatRoundingTurnsOverIsNamed) {
  const auto diagnosis = diagnosed(R"(graph "g" (%x: f32[1, 4], %w: f32[4, 4], %table: f32[4, 2]) -> (%y) {
    const %two = i64[1] hex"0200000000000000"
    %a: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
    %v: f32[*], %i: i64[*] = TopK(%a, %two) {axis = -1} version 11 @"top" from ["top"]
    %y: f32[*] = Gather(%table, %i) version 13 @"gather" from ["gather"] })",
                                   kPairs, another_order("product"));
  EXPECT_EQ(first_of(diagnosis), "B17 at top");
}

TEST(Amplified, ADecisionIsAnErrorWhereTheOutputIsNoFloat) {
  const auto diagnosis = diagnosed(R"(graph "g" (%x: f32[1, 4], %w: f32[4, 4], %table: f32[4, 2]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
    %y: i64[*] = ArgMax(%a) {axis = 1} version 13 @"best" from ["best"] })",
                                   kPairs, another_order("product"));
  EXPECT_EQ(first_of(diagnosis), "B17 at best");
}

TEST(Amplified, WhatIsRightBesideAnInfHasLittleShare) {
  const auto in_half = [](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (node.name != "grow" && node.name != "sum") return;
    results[0].tensor = rounded(results[0].tensor, NarrowFormat::float16());
  };
  const auto diagnosis = diagnosed(R"(graph "g" (%x: f32[64], %w: f32[64]) -> (%y) {
    %a: f32[*] = Mul(%x, %w) version 14 @"grow" from ["grow"]
    %b: f32[*] = Add(%a, %x) version 14 @"sum" from ["sum"]
    %y: f32[*] = Mul(%b, %x) version 14 @"end" from ["end"] })",
                                   {{"x", wave({64}, 0.7)}, {"w", times(wave({64}, 1.3), 1e5)}}, in_half);
  EXPECT_EQ(first_of(diagnosis), "B2 at grow");
}

// A model may be one If, as exporters write it: what is rounded in its branches is all that is rounded.
TEST(Amplified, BoundsCountWhatControlFlowRoundsInside) {
  const auto bound = [](const std::string& type) {
    const Model model = parse_graph(fmt::format(R"(graph "g" (%x: f32[4, 16], %w: f32[16, 16]) -> (%y) {{
      const %yes = bool[] hex"01"
      %y: f32[*] = If(%yes) version 16 @"if" from ["if"] regions {{
        then_branch = graph "then" () -> (%r) {{
          %a: {0}[*] = Cast(%x) {{to = {1}}} version 13 @"a" from ["a"]
          %b: {0}[*] = Cast(%w) {{to = {1}}} version 13 @"b" from ["b"]
          %p: {0}[*] = MatMul(%a, %b) version 13 @"p" from ["p"]
          %r: f32[*] = Cast(%p) {{to = 1}} version 13 @"r" from ["r"]
        }}
        else_branch = graph "else" () -> (%s) {{
          %s: f32[*] = MatMul(%x, %w) version 13 @"s" from ["s"]
        }}
      }}
    }})",
                                                type, type == "f32" ? 1 : 16));
    PlantedRunner runner(model, nullptr);
    RunnerUnderTest tested(runner, model, nullptr);
    const auto bounds = derived_bounds(tested, {{"x", wave({4, 16}, 0.7)}, {"w", wave({16, 16}, 1.3)}}, 1);
    return bounds.at("y");
  };
  const DerivedBound narrow = bound("bf16"), wide = bound("f32");
  EXPECT_EQ(narrow.roundings, "bf16");
  EXPECT_GT(narrow.relative_l2, 0x1p-9);
  EXPECT_LT(narrow.relative_l2, 0.1);
  EXPECT_LT(wide.relative_l2, 1e-5);
}

}  // namespace
}  // namespace vernier

// Tests what the rules make narrow, and the typed graph that follows.
#include "precision/typing.h"
#include "vernier/base/file.h"
#include "vernier/ops/tf32.h"
#include "vernier/precision/audit.h"

namespace vernier {
namespace {

PrecisionOptions bf16() {
  PrecisionOptions options;
  options.bf16 = true;
  return options;
}

TEST(Rules, WithoutOptionsNothingChanges) {
  Model model = parse_graph(kSmallNet);
  const std::string before = print(*model.graph);
  apply(model, {});
  EXPECT_EQ(print(*model.graph), before);
}

TEST(Rules, ContractionsLowerAndWhatLiesBetweenFollows) {
  Model model = parse_graph(kSmallNet);
  const auto plan = apply(model, bf16());
  EXPECT_EQ(types(*model.graph),
            "Cast:bf16 Conv:bf16 Relu:bf16 Conv:bf16 Add:bf16 Conv:bf16 Cast:f32 Exp:f32 Softmax:f32");
  EXPECT_EQ(plan.layers.at("conv_a").compute, ElementType::kBFloat16);
  EXPECT_EQ(plan.layers.at("conv_a").accumulate, ElementType::kFloat);
  EXPECT_EQ(plan.layers.at("relu").compute, ElementType::kFloat);
  EXPECT_EQ(plan.layers.at("relu").store, ElementType::kBFloat16);
  EXPECT_EQ(plan.layers.at("exp").store, ElementType::kFloat);
  EXPECT_EQ(plan.layers.at("exp").by, LayerPrecision::By::kRule);
  EXPECT_NE(plan.layers.at("exp").why, "");
}

TEST(Rules, WeightsAreRoundedOnceAndTheReferenceAgrees) {
  const Model before = parse_graph(kSmallNet);
  Model after = parse_graph(kSmallNet);
  apply(after, bf16());
  const double error = distance(before, after);
  EXPECT_GT(error, 0);  // something was rounded
  EXPECT_LT(error, 0.05);
  PrecisionOptions fp16;
  fp16.fp16 = true;
  Model half = parse_graph(kSmallNet);
  apply(half, fp16);
  EXPECT_LT(distance(before, half), error);  // three more bits
}

// A node that became a contraction and views of what it reads is as narrow as the contraction.
TEST(Rules, ViewsOfWideValuesLeaveAContractionNarrow) {
  Model model =
      parse_graph(R"(graph "g" (%q: f32[2, 256, 64], %k: f32[2, 256, 64], %v: f32[2, 256, 64]) -> (%y) {
    %t: f32[*] = Transpose(%k) {perm = ints[0, 2, 1]} version 13 @"t" from ["t"]
    %s: f32[*] = MatMul(%q, %t) version 13 @"s" from ["s"]
    %p: f32[*] = Softmax(%s) {axis = -1} version 13 @"p" from ["p"]
    %y: f32[*] = MatMul(%p, %v) version 13 @"y" from ["y"]
  })");
  rewrite(model, {recognise_attention(), remove_dead_code()});
  const auto plan = apply(model, bf16());
  EXPECT_THAT(types(*model.graph), testing::HasSubstr("Attention:bf16"));
  for (const char* name : {"s", "p", "y"})
    EXPECT_EQ(plan.layers.at(name).compute, ElementType::kBFloat16) << name;
}

TEST(Rules, TheUserSaysWhichNodes) {
  Model model = parse_graph(kSmallNet);
  PrecisionOptions options = bf16();
  options.layers = parse_layer_types("conv_?:bf16,conv_b:fp32");
  const auto plan = apply(model, options);
  EXPECT_EQ(types(*model.graph),
            "Cast:bf16 Conv:bf16 Relu:bf16 Cast:f32 Conv:f32 Cast:bf16 Add:bf16 Conv:bf16 Cast:f32 Exp:f32 "
            "Softmax:f32");
  EXPECT_EQ(plan.layers.at("conv_b").by, LayerPrecision::By::kUser);
}

// The nodes of a graph that may round their factors to TF32.
std::vector<std::string> by_tf32(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes()) {
    if (ops::may_round_to_tf32(*node)) names.push_back(node->name);
  }
  return names;
}

PrecisionOptions tf32() {
  PrecisionOptions options;
  options.tf32 = true;
  return options;
}

TEST(Rules, ContractionsOfF32MayRoundToTf32WhereItIsAskedFor) {
  Model model = parse_graph(kSmallNet);
  const auto plan = apply(model, tf32());
  EXPECT_THAT(by_tf32(*model.graph), testing::ElementsAre("conv_a", "conv_b", "conv_c"));
  EXPECT_EQ(types(*model.graph), "Conv:f32 Relu:f32 Conv:f32 Add:f32 Conv:f32 Exp:f32 Softmax:f32");
  EXPECT_EQ(plan.layers.at("conv_a").by, LayerPrecision::By::kRule);
  EXPECT_EQ(plan.layers.at("conv_a").why, "a contraction");
  Model strict = parse_graph(kSmallNet);
  apply(strict, {});
  EXPECT_THAT(by_tf32(*strict.graph), testing::IsEmpty());
}

TEST(Rules, TheUserSaysWhichProductsRoundToTf32) {
  Model kept = parse_graph(kSmallNet);
  PrecisionOptions options = tf32();
  options.layers = {{"conv_b", ElementType::kFloat, true}};  // --keep-fp32
  EXPECT_EQ(apply(kept, options).layers.at("conv_b").by, LayerPrecision::By::kUser);
  EXPECT_THAT(by_tf32(*kept.graph), testing::ElementsAre("conv_a", "conv_c"));

  Model one = parse_graph(kSmallNet);
  PrecisionOptions layers = bf16();
  layers.layers = parse_layer_types("conv_b:tf32");
  EXPECT_EQ(apply(one, layers).layers.at("conv_b").by, LayerPrecision::By::kUser);
  EXPECT_THAT(by_tf32(*one.graph), testing::ElementsAre("conv_b"));

  Model others = parse_graph(kSmallNet);
  PrecisionOptions pattern;
  pattern.layers = parse_layer_types("*:tf32");
  const auto plan = apply(others, pattern);
  EXPECT_THAT(by_tf32(*others.graph), testing::ElementsAre("conv_a", "conv_b", "conv_c"));
  EXPECT_THAT(plan.notes, testing::Contains(testing::AllOf(testing::HasSubstr("not computed in tf32"),
                                                           testing::HasSubstr("multiplies nothing"))));
  pattern.layers = parse_layer_types("softmax:tf32");
  EXPECT_THROW(make_precision_plan(*others.graph, *others.graph, pattern), PrecisionDifference);
  PrecisionOptions results;
  results.outputs = parse_layer_types("conv_a:tf32");
  EXPECT_THROW(make_precision_plan(*others.graph, *others.graph, results), Error);
}

TEST(Rules, WhatIsLoweredFurtherIsNotTf32) {
  Model model = parse_graph(kSmallNet);
  PrecisionOptions options = bf16();
  options.tf32 = true;
  apply(model, options);
  EXPECT_THAT(by_tf32(*model.graph), testing::IsEmpty());
  EXPECT_THAT(types(*model.graph), testing::HasSubstr("Conv:bf16"));
}

TEST(Rules, Tf32IsOffWhateverAsksForIt) {
  PrecisionOptions options = tf32();
  options.layers = parse_layer_types("conv_a:tf32");
  options.no_tf32 = true;
  Model model = parse_graph(kSmallNet);
  const auto plan = apply(model, options);
  EXPECT_THAT(by_tf32(*model.graph), testing::IsEmpty());
  EXPECT_FALSE(plan.tf32);
  EXPECT_THAT(plan.notes, testing::Contains(testing::HasSubstr("TF32 is off (--no-tf32")));

  // A plan may ask for it, too.
  const TemporaryFolder folder;
  PrecisionOptions planned;
  planned.plan = folder.path() / "plan.json";
  const Model declared = parse_graph(kSmallNet);
  write_file(planned.plan, plan_json(make_precision_plan(*declared.graph, *declared.graph, tf32())));
  Model asked = parse_graph(kSmallNet);
  apply(asked, planned);
  EXPECT_EQ(by_tf32(*asked.graph).size(), 3U);
  planned.no_tf32 = true;
  Model forbidden = parse_graph(kSmallNet);
  apply(forbidden, planned);
  EXPECT_THAT(by_tf32(*forbidden.graph), testing::IsEmpty());
}

TEST(Rules, TypesOfResults) {
  Model model = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.outputs = parse_layer_types("conv_a:fp16,relu:bf16");
  apply(model, options);
  // The convolution multiplies floats and is rounded after; the pointwise node computes floats anyway.
  EXPECT_EQ(types(*model.graph),
            "Conv:f32 Cast:f16 Cast:f32 Cast:bf16 Relu:bf16 Cast:f32 Conv:f32 Add:f32 Conv:f32 Exp:f32 "
            "Softmax:f32");
}

// A Cast states its type: what it makes is rounded to another.
TEST(Rules, ANodeThatStatesItsTypeIsRounded) {
  Model model = parse_graph(R"(graph "g" (%x: i64[2]) -> (%y) {
    %c: f32[*] = Cast(%x) {to = 1} version 13 @"cast" from ["cast"]
    %y: f32[*] = Neg(%c) version 13 @"neg" from ["neg"]
  })");
  PrecisionOptions options;
  options.layers = parse_layer_types("*:bf16");
  apply(model, options);
  EXPECT_EQ(types(*model.graph), "Cast:f32 Cast:bf16 Neg:bf16 Cast:f32");
}

TEST(Rules, APatternThatMatchesNothingIsAnError) {
  Model model = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.layers = parse_layer_types("conv_d:fp32");
  EXPECT_THROW(apply(model, options), Error);
}

TEST(Rules, OutputsAndWhatRegionsReadKeepTheirTypes) {
  Model model = parse_graph(R"(graph "g" (%x: f32[2, 2], %c: bool[]) -> (%p, %y) {
    const %w = f32[2, 2] hex"0000803f000000400000404000008040"
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %q: f32[*] = MatMul(%p, %w) version 13 @"q" from ["q"]
    %y: f32[*] = If(%c) version 17 @"if" from ["if"] regions {
      then_branch = graph "t" () -> (%t) {
        %t: f32[*] = MatMul(%q, %w) version 13 @"t" from ["t"]
      }
      else_branch = graph "e" () -> (%e) {
        %e: f32[*] = Neg(%q) version 13 @"e" from ["e"]
      }
    }
  })");
  apply(model, bf16());
  for (const Value* output : model.graph->outputs)
    EXPECT_EQ(output->type.tensor.element, ElementType::kFloat);
  EXPECT_EQ(model.graph->outputs[0]->name, "p");
  const Graph* branch = model.graph->nodes().back()->region("then_branch");
  ASSERT_NE(branch, nullptr);
  EXPECT_EQ(types(*branch), "Cast:bf16 MatMul:bf16 Cast:f32");
}

TEST(Rules, SizesAreReadFromNarrowValuesToo) {
  Model model = parse_graph(R"(graph "g" (%x: f32[N, 2]) -> (%s, %y) {
    const %w = f32[2, 2] hex"0000803f000000400000404000008040"
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %s: i64[*] = Shape(%p) {start = 0} version 24 @"s" from ["s"]
    %y: f32[*] = MatMul(%p, %w) version 13 @"y_" from ["y_"]
  })");
  apply(model, bf16());
  EXPECT_EQ(model.graph->outputs[0]->type.tensor.element, ElementType::kInt64);
  EXPECT_EQ(model.graph->outputs[1]->type.tensor.element, ElementType::kFloat);
}

TEST(Rules, WhatTheModelHasQuantizedStaysSo) {
  Model model = parse_graph(R"(graph "g" (%x: f32[2, 2]) -> (%y) {
    const %w = f32[2, 2] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    const %s = f32[] hex"0000803d"
    const %z = u8[] hex"80"
    %q: u8[*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
    %d: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"d" from ["d"]
    %p: f32[*] = MatMul(%d, %w) version 13 @"p" from ["p"]
    %y: f32[*] = MatMul(%p, %w) version 13 @"product" from ["product"]
  })");
  const auto plan = apply(model, bf16());
  EXPECT_EQ(types(*model.graph),
            "QuantizeLinear:u8 DequantizeLinear:f32 MatMul:f32 Cast:bf16 MatMul:bf16 Cast:f32");
  EXPECT_EQ(plan.layers.at("p").compute, ElementType::kInt8);
}

TEST(Rules, RangesPlaceQuantization) {
  const TemporaryFolder folder;
  write_file(folder.path() / "scales.json",
             R"({"tensors": {"x": {"min": -4, "max": 4}, "r": {"min": 0, "max": 16}}})");
  const Model before = parse_graph(kSmallNet);
  Model after = parse_graph(kSmallNet);
  PrecisionOptions options;
  options.int8 = true;
  options.calibration = folder.path() / "scales.json";
  const auto plan = apply(after, options);
  EXPECT_EQ(types(*after.graph),
            "QuantizeLinear:i8 DequantizeLinear:f32 DequantizeLinear:f32 Conv:f32 Relu:f32 QuantizeLinear:u8 "
            "DequantizeLinear:f32 Conv:f32 Add:f32 Conv:f32 Exp:f32 Softmax:f32");
  EXPECT_EQ(plan.layers.at("conv_a").compute, ElementType::kInt8);
  EXPECT_EQ(plan.layers.at("conv_c").compute, ElementType::kFloat);  // its input has no range
  EXPECT_LT(distance(before, after), 0.1);
  EXPECT_GT(distance(before, after), 0);
  options.layers = parse_layer_types("conv_c:int8");
  Model refused = parse_graph(kSmallNet);
  EXPECT_THROW(apply(refused, options), Error);
}

}  // namespace
}  // namespace vernier

// int8 models for ONNX Runtime, in which codes go from one contraction to the next.
#include "precision/typed_models.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A block as those of ResNet, the pool behind it, and a product of it.
constexpr const char* kBlock = R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
  const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
  const %m = f32[2, 2] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
  %a: f32[*] = Conv(%x, %w) version 13 @"conv_a" from ["conv_a"]
  %r: f32[*] = Relu(%a) version 13 @"relu" from ["relu"]
  %b: f32[*] = Conv(%r, %w) version 13 @"conv_b" from ["conv_b"]
  %s: f32[*] = Add(%b, %r) version 13 @"add" from ["add"]
  %t: f32[*] = Relu(%s) version 13 @"relu_t" from ["relu_t"]
  %p: f32[*] = MaxPool(%t) {kernel_shape = ints[4, 4]} version 13 @"pool" from ["pool"]
  %f: f32[*] = Flatten(%p) version 13 @"flatten" from ["flatten"]
  %g: f32[*] = Gemm(%f, %m) version 13 @"gemm" from ["gemm"]
  %y: f32[*] = Softmax(%g) version 13 @"softmax" from ["softmax"]
})";
constexpr const char* kInputs =
    R"("x": {"min": -4, "max": 4}, "r": {"min": 0, "max": 2}, "f": {"min": 0, "max": 3})";
constexpr const char* kRest =
    R"(, "b": {"min": -1, "max": 1}, "s": {"min": -1, "max": 3}, "t": {"min": 0, "max": 2})";

class CodesBetweenContractions : public testing::Test {
 protected:
  TypedModel typed(const std::string& ranges, const char* graph = kBlock) {
    write_file(folder_.path() / "scales.json", "{\"tensors\": {" + ranges + "}}");
    PrecisionOptions options;
    options.int8 = options.codes_between = true;
    options.calibration = folder_.path() / "scales.json";
    return typed_model(parse(graph), options);
  }
  TemporaryFolder folder_;
};

std::set<std::string> readers(const TypedModel& typed, const std::string& value) {
  std::set<std::string> found;
  for (const auto& node : typed.model.graph->nodes()) {
    for (const Value* input : node->inputs) {
      if (input != nullptr && input->name == value) found.insert(node->name.empty() ? node->op : node->name);
    }
  }
  return found;
}

const Node& maker(const TypedModel& typed, const std::string& value) {
  for (const auto& node : typed.model.graph->nodes()) {
    if (node->output(0)->name == value) return *node;
  }
  throw bad_input("no value {}", value);
}

TEST_F(CodesBetweenContractions, EveryReaderOfAValueReadsItsCodes) {
  const TypedModel all = typed(std::string(kInputs) + kRest);
  for (const char* value : {"x", "r", "b", "t", "p", "f"})
    EXPECT_THAT(readers(all, value), ElementsAre(testing::HasSubstr(fmt::format("{}/", value)))) << value;
  EXPECT_THAT(readers(all, "r/dequantized"), ElementsAre("add", "conv_b"));
  // Codes from 0 on imply what these Relus do.
  EXPECT_THAT(readers(all, "a"), ElementsAre("relu"));
  EXPECT_THAT(readers(all, "s"), ElementsAre("relu_t"));
  EXPECT_THAT(readers(all, "g"), ElementsAre("softmax"));
  EXPECT_THAT(all.between.unknown, IsEmpty());
  EXPECT_EQ(all.between.values, 6U);
  const double error = distance(parse(kBlock), all.model);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.05);
}

TEST_F(CodesBetweenContractions, WhatMovesElementsKeepsTheirScale) {
  const TypedModel all = typed(std::string(kInputs) + kRest);
  const Value* scale = maker(all, "t/u8").input(1);
  for (const char* codes : {"p/u8", "f/u8"}) {
    EXPECT_EQ(maker(all, codes).input(1), scale) << codes;
    EXPECT_EQ(maker(all, codes).input(2), maker(all, "t/u8").input(2)) << codes;
  }
  EXPECT_EQ(maker(all, "f/dequantized").input(1), scale);
  EXPECT_FLOAT_EQ(scale->constant->to_doubles()[0], 2.0 / 255);
}

TEST_F(CodesBetweenContractions, ValuesWithoutARangeAreNamedAndStayFloats) {
  const TypedModel some = typed(kInputs);
  EXPECT_THAT(some.between.unknown, ElementsAre("b", "t"));
  EXPECT_THAT(readers(some, "b"), ElementsAre("add"));
  EXPECT_THAT(readers(some, "t"), ElementsAre("pool"));
  EXPECT_LT(distance(parse(kBlock), some.model), 0.05);
}

TEST_F(CodesBetweenContractions, ARangeThatDoesNotImplyTheReluIsNotTakenForIt) {
  const TypedModel all =
      typed(R"("x": {"min": -4, "max": 4}, "a": {"min": -2, "max": 2}, "r": {"min": -2, "max": 2},
    "b": {"min": -1, "max": 1}, "s": {"min": -1, "max": 3}, "t": {"min": 0, "max": 2}, "f": {"min": 0, "max": 3})");
  EXPECT_THAT(readers(all, "a"), ElementsAre("a/i8"));
  EXPECT_THAT(readers(all, "a/dequantized"), ElementsAre("relu"));
  EXPECT_LT(distance(parse(kBlock), all.model), 0.05);
}

TEST_F(CodesBetweenContractions, ClipsAreImpliedWhereTheCodesEndThere) {
  constexpr const char* kClipped = R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
    const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    const %low = f32[] hex"00000000"
    const %high = f32[] hex"0000803f"
    %a: f32[*] = Conv(%x, %w) version 13 @"conv_a" from ["conv_a"]
    %r: f32[*] = Clip(%a, %low, %high) version 13 @"clip" from ["clip"]
    %b: f32[*] = Conv(%r, %w) version 13 @"conv_b" from ["conv_b"]
    %y: f32[*] = Softmax(%b) version 13 @"softmax" from ["softmax"]
  })";
  const auto readers_of_a = [&](const char* most) {
    return readers(typed(fmt::format(R"("x": {{"min": -4, "max": 4}}, "a": {{"min": -2, "max": 2}},
      "r": {{"min": 0, "max": {}}})",
                                     most),
                         kClipped),
                   "a");
  };
  EXPECT_THAT(readers_of_a("1"), ElementsAre("clip"));
  EXPECT_THAT(readers_of_a("2"), ElementsAre("a/i8"));
}

// As other tools leave it: no zero point, no range of the calibration.
TEST_F(CodesBetweenContractions, WhatTheModelQuantizesOtherwiseIsLeftAlone) {
  const TypedModel all = typed(R"("x": {"min": -4, "max": 4}, "r": {"min": 0, "max": 2})",
                               R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
    const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    const %step = f32[] hex"cdcccc3d"
    %a: f32[*] = Conv(%x, %w) version 13 @"conv_a" from ["conv_a"]
    %r: f32[*] = Relu(%a) version 13 @"relu" from ["relu"]
    %b: f32[*] = Conv(%r, %w) version 13 @"conv_b" from ["conv_b"]
    %q: u8[*] = QuantizeLinear(%b, %step) version 13 @"q" from ["q"]
    %y: f32[*] = DequantizeLinear(%q, %step) version 13 @"y" from ["y"]
  })");
  EXPECT_THAT(readers(all, "b"), ElementsAre("q"));
  EXPECT_THAT(all.between.unknown, ElementsAre("b"));
}

TEST_F(CodesBetweenContractions, OutputsOfTheModelStayAsTheyAre) {
  const TypedModel all = typed(R"("x": {"min": -4, "max": 4}, "y": {"min": -1, "max": 1})",
                               R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
    const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    %y: f32[*] = Conv(%x, %w) version 13 @"conv" from ["conv"]
  })");
  EXPECT_THAT(readers(all, "y"), IsEmpty());
  EXPECT_EQ(maker(all, "y").op, "Conv");
}

}  // namespace
}  // namespace vernier

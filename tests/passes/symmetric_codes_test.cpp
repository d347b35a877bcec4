// UINT8 and other zeros become INT8 around zero, with the ranges that they had.
#include "vernier/passes/quantization/symmetric_codes.h"

#include "passes/expect_pass.h"
#include "vernier/passes/quantization/expand_qlinear.h"
#include "vernier/passes/quantization/quantization.h"

namespace vernier {
namespace {

// Scale 0.1 (cdcccc3d).
constexpr const char* kConstants = R"(
    const %s = f32[] hex"cdcccc3d"
    const %z = u8[] hex"00"
    const %m = u8[] hex"40"
)";

struct Rewritten {
  Model model;
  Graph* graph = nullptr;
  SymmetricCodes found;

  explicit Rewritten(const std::string& inputs, const std::string& nodes) {
    model = parse_graph(fmt::format("graph \"g\" ({}) -> (%y) {{ {} {} }}", inputs, kConstants, nodes));
    graph = model.graph.get();
    ops::infer_types(*graph);
    run_passes(*graph, {expand_qlinear(), symmetric_codes(found), remove_dead_code()}, {});
  }

  const Node* node(std::string_view op) const {
    for (const auto& each : graph->nodes()) {
      if (each->op == op) return each.get();
    }
    return nullptr;
  }
  // Every QuantizeLinear and DequantizeLinear is looked at.
  void expect_symmetric() const {
    for (const auto& each : graph->nodes()) {
      if (!is_quantize(each.get()) && !is_dequantize(each.get())) continue;
      const auto found_quantization = Quantization::of(each.get());
      ASSERT_TRUE(found_quantization) << each->name;
      EXPECT_EQ(found_quantization->type, ElementType::kInt8);
      EXPECT_EQ(found_quantization->zero_points[0], 0);
    }
  }
};

constexpr const char* kPair = R"(
    %q: u8[*] = QuantizeLinear(%x, %s, %{0}) version 13 @"q" from ["q"]
    %y: f32[*] = DequantizeLinear(%q, %s, %{0}) version 13 @"d" from ["d"])";

// 255 steps of one sign: a Relu, and a scale of 25.5 / 127.
TEST(SymmetricCodes, AValueKeepsItsRange) {
  const Rewritten result("%x: f32[4]", fmt::format(fmt::runtime(kPair), "z"));
  result.expect_symmetric();
  EXPECT_NE(result.node("Relu"), nullptr);
  EXPECT_NEAR(Quantization::of(result.node("QuantizeLinear"))->scales[0], 25.5 / 127, 1e-6);
  EXPECT_EQ(result.found.values, 1);
  EXPECT_EQ(result.found.clips, 1);
}

// Zero point 64: from -6.4 to 19.1, of which the codes around zero reach 19.1 on both sides.
TEST(SymmetricCodes, WhatCodesCutOffIsCutOffBefore) {
  const Rewritten result("%x: f32[4]", fmt::format(fmt::runtime(kPair), "m"));
  result.expect_symmetric();
  const Node* clip = result.node("Clip");
  ASSERT_NE(clip, nullptr);
  EXPECT_NEAR(clip->input(1)->constant->to_doubles()[0], -6.4, 1e-5);
  EXPECT_NEAR(clip->input(2)->constant->to_doubles()[0], 19.1, 1e-5);
}

TEST(SymmetricCodes, WhatIsNeverNegativeNeedsNoClip) {
  const Rewritten result("%w: f32[4]", "%x: f32[*] = Relu(%w) version 13 @\"r\" from [\"r\"]" +
                                           fmt::format(fmt::runtime(kPair), "z"));
  result.expect_symmetric();
  EXPECT_EQ(result.found.clips, 0);
}

// Kernels of integers want a pair before each operand, and TensorRT moves no codes.
TEST(SymmetricCodes, WhatMovedCodesMovesFloats) {
  const Rewritten result("%x: f32[1, 1, 4, 4]", R"(
    %q: u8[*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
    %p: u8[*] = MaxPool(%q) {kernel_shape = ints[2, 2]} version 12 @"p" from ["p"]
    %y: f32[*] = DequantizeLinear(%p, %s, %z) version 13 @"d" from ["d"])");
  result.expect_symmetric();
  EXPECT_TRUE(is_dequantize(result.node("MaxPool")->input(0)->producer()));
  EXPECT_EQ(result.found.values, 2);
  EXPECT_EQ(result.found.clips, 1);  // before the first of the pairs alone
}

// 201 - 64 is beyond 127: a wider scale for weights, floats for what is no operand of a product.
TEST(SymmetricCodes, CodesOfConstants) {
  const std::string weights = R"(
    const %w = u8[2, 2] hex"404180c9"
    %v: f32[*] = DequantizeLinear(%w, %s, %m) version 13 @"v" from ["v"])";
  const Rewritten product("%x: f32[2, 2]",
                          weights + "%y: f32[*] = MatMul(%x, %v) version 13 @\"y\" from [\"y\"]");
  product.expect_symmetric();
  EXPECT_EQ(product.found.weights, 1);
  EXPECT_EQ(product.node("DequantizeLinear")->input(0)->constant->to_ints(),
            (std::vector<int64_t>{0, 1, 59, 127}));
  const Rewritten sum("%x: f32[2, 2]", weights + "%y: f32[*] = Add(%x, %v) version 13 @\"y\" from [\"y\"]");
  EXPECT_EQ(sum.found.constants, 1);
  EXPECT_NEAR(sum.node("Add")->input(1)->constant->to_doubles()[3], 13.7, 1e-5);
}

// A bias of INT32 is a float, of the scale of the sums.
TEST(SymmetricCodes, QLinearConvInWordsOfOnnx) {
  const Rewritten result("%x: u8[1, 1, 4, 4]", R"(
    const %w = i8[1, 1, 1, 1] hex"05"
    const %n = i8[] hex"00"
    const %b = i32[1] hex"64000000"
    %q: u8[*] = QLinearConv(%x, %s, %z, %w, %s, %n, %s, %z, %b) version 10 @"c" from ["c"]
    %y: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"d" from ["d"])");
  result.expect_symmetric();
  const Node* conv = result.node("Conv");
  ASSERT_NE(conv, nullptr);
  EXPECT_NEAR(conv->input(2)->constant->to_doubles()[0], 100 * 0.1 * 0.1, 1e-6);
  EXPECT_EQ(result.found.borders, 1);  // the input
}

}  // namespace
}  // namespace vernier

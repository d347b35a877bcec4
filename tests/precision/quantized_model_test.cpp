// Models with int8, as they are written to ONNX.
#include "precision/typed_models.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

using testing::HasSubstr;

class Quantized : public testing::Test {
 protected:
  PrecisionOptions options() {
    write_file(folder_.path() / "scales.json",
               R"({"tensors": {"x": {"min": -4, "max": 4}, "r": {"min": 0, "max": 16}}})");
    PrecisionOptions options;
    options.int8 = true;
    options.calibration = folder_.path() / "scales.json";
    return options;
  }
  TemporaryFolder folder_;
};

TEST_F(Quantized, WeightsAreCodesWithAScaleForEachChannel) {
  const Model model = small_net();
  const TypedModel typed = typed_model(model, options());
  EXPECT_EQ(types(*typed.model.graph),
            "QuantizeLinear:i8 DequantizeLinear:f32 DequantizeLinear:f32 Conv:f32 Relu:f32 QuantizeLinear:u8 "
            "DequantizeLinear:f32 Conv:f32 Exp:f32 Softmax:f32");
  for (const auto& node : typed.model.graph->nodes()) {
    if (node->op != "DequantizeLinear" || !node->input(0)->is_constant()) continue;
    EXPECT_EQ(node->input(0)->constant->type(), ElementType::kInt8);
    EXPECT_EQ(node->input(1)->constant->size(), 2);
    ASSERT_NE(node->input(2), nullptr);  // TensorRT 8 wants it
    EXPECT_EQ(node->input(2)->constant->size(), 2);
  }
  EXPECT_EQ(typed.quantized, 5);
  expect_declared(typed);
  EXPECT_LT(distance(model, typed.model), 0.1);
}

// The engine quantizes the weights that it multiplies, and those hold the normalisation already.
TEST_F(Quantized, BatchNormalizationGoesIntoTheWeightsFirst) {
  const auto net = [] {
    return parse(R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
      const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
      const %gamma = f32[2] hex"0000c03f00004040"
      const %beta = f32[2] hex"0000803f000080bf"
      const %mean = f32[2] hex"0000003f0000803e"
      const %variance = f32[2] hex"000000400000803f"
      %a: f32[*] = Conv(%x, %w) version 13 @"conv_a" from ["conv_a"]
      %n: f32[*] = BatchNormalization(%a, %gamma, %beta, %mean, %variance) version 13 @"bn_a" from ["bn_a"]
      %r: f32[*] = Relu(%n) version 13 @"relu" from ["relu"]
      %b: f32[*] = Conv(%x, %w) version 13 @"conv_b" from ["conv_b"]
      %m: f32[*] = BatchNormalization(%b, %gamma, %beta, %mean, %variance) version 13 @"bn_b" from ["bn_b"]
      %y: f32[*] = Add(%r, %m) version 13 @"y" from ["y"]
    })");
  };
  PrecisionOptions given = options();
  given.layers = {{"conv_b", ElementType::kFloat}};
  const TypedModel typed = typed_model(net(), given);
  EXPECT_EQ(types(*typed.model.graph),
            "QuantizeLinear:i8 DequantizeLinear:f32 DequantizeLinear:f32 Conv:f32 Relu:f32 Conv:f32 "
            "BatchNormalization:f32 Add:f32");
  for (const char* node : {"conv_a", "bn_a"})
    EXPECT_EQ(typed.plan.layers.at(node).compute, ElementType::kInt8) << node;

  Model engine = net();
  rewrite(engine, {fold_batch_norm([](const Node& node) { return node.name == "conv_a"; })});
  apply(engine, given);
  EXPECT_EQ(distance(engine, typed.model), 0);
  EXPECT_GT(distance(net(), typed.model), 0);
}

// PyTorch's exporter has parameters of equal content once, and gives them on through Identities.
TEST_F(Quantized, SharedParametersAreFoldedAsWell) {
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f32[1, 2, 4, 4]) -> (%y) {
    const %w = f32[2, 2, 1, 1] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    const %ones = f32[2] hex"0000c03f00004040"
    const %zeros = f32[2] hex"0000803f000080bf"
    %v: f32[*] = Identity(%w) version 13 @"weights" from ["weights"]
    %gamma: f32[*] = Identity(%ones) version 13 @"gamma" from ["gamma"]
    %beta: f32[*] = Identity(%zeros) version 13 @"beta" from ["beta"]
    %a: f32[*] = Conv(%x, %v) version 13 @"conv_a" from ["conv_a"]
    %r: f32[*] = BatchNormalization(%a, %gamma, %beta, %zeros, %ones) version 13 @"bn_a" from ["bn_a"]
    %y: f32[*] = Relu(%r) version 13 @"relu" from ["relu"]
  })"),
                                       options());
  EXPECT_EQ(types(*typed.model.graph),
            "QuantizeLinear:i8 DequantizeLinear:f32 DequantizeLinear:f32 Conv:f32 Relu:f32");
}

// The engine makes one Attention of them, which has no int8.
TEST_F(Quantized, ProductsOfAttentionStayInFloat) {
  std::string ranges;
  for (const char* value : {"x", "q", "t", "p", "v"})
    ranges += fmt::format("{}\"{}\": {{\"min\": -4, \"max\": 4}}", ranges.empty() ? "" : ", ", value);
  PrecisionOptions given = options();
  given.calibration = folder_.path() / "attention.json";
  write_file(given.calibration, "{\"tensors\": {" + ranges + "}}");
  const TypedModel typed =
      typed_model(parse(R"(graph "g" (%x: f32[2, 4, 6, 2], %k: f32[2, 4, 6, 2], %v: f32[2, 4, 6, 2]) -> (%y) {
    const %w = f32[2, 2] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    %q: f32[*] = MatMul(%x, %w) version 13 @"query" from ["query"]
    %t: f32[*] = Transpose(%k) {perm = ints[0, 1, 3, 2]} version 13 @"turned" from ["turned"]
    %s: f32[*] = MatMul(%q, %t) version 13 @"scores" from ["scores"]
    %p: f32[*] = Softmax(%s) version 13 @"softmax" from ["softmax"]
    %y: f32[*] = MatMul(%p, %v) version 13 @"values" from ["values"]
  })"),
                  given);
  EXPECT_EQ(types(*typed.model.graph),
            "QuantizeLinear:i8 DequantizeLinear:f32 DequantizeLinear:f32 MatMul:f32 Transpose:f32 "
            "MatMul:f32 Softmax:f32 MatMul:f32");
}

TEST_F(Quantized, SymmetricScalesReachAsFar) {
  PrecisionOptions symmetric = options();
  symmetric.symmetric = true;
  const TypedModel typed = typed_model(small_net(), symmetric);
  EXPECT_THAT(types(*typed.model.graph), testing::Not(HasSubstr("u8")));
  const auto& quant = typed.plan.layers.at("conv_b").quant;
  ASSERT_EQ(quant.size(), 1);
  EXPECT_EQ(quant[0].type, ElementType::kInt8);
  EXPECT_DOUBLE_EQ(quant[0].scale, 16.0 / 127);
}

TEST_F(Quantized, AFrozenLayerIsNotMadeSymmetric) {
  write_file(folder_.path() / "plan.json", R"({"schema": "vernier-plan", "version": 1, "layers": {
    "conv_a": {"compute": "i8", "accumulate": "i32", "store": "f32", "frozen": true,
               "quant": [{"input": 0, "type": "u8", "scale": 0.02, "zero_point": 0}]}}})");
  PrecisionOptions given;
  given.plan = folder_.path() / "plan.json";
  EXPECT_EQ(typed_model(small_net(), given).quantized, 3);
  given.symmetric = true;
  try {
    typed_model(small_net(), given);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_EQ(error.node(), "conv_a");
  }
}

// A plan that a person wrote may ask for anything.
TEST_F(Quantized, OnlyContractionsHaveCodesForWeights) {
  write_file(folder_.path() / "plan.json", R"({"schema": "vernier-plan", "version": 1, "layers": {
    "add": {"compute": "i8", "accumulate": "i32", "store": "f32",
            "quant": [{"input": 0, "type": "i8", "scale": 0.02, "zero_point": 0},
                      {"input": 7, "type": "i8", "scale": 0.02, "zero_point": 0}]}}})");
  PrecisionOptions given;
  given.plan = folder_.path() / "plan.json";
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f32[2, 2]) -> (%y) {
    const %c = f32[] hex"0000803f"
    %y: f32[*] = Add(%x, %c) version 13 @"add" from ["add"]
  })"),
                                       given);
  EXPECT_EQ(types(*typed.model.graph), "QuantizeLinear:i8 DequantizeLinear:f32 Add:f32");
}

TEST_F(Quantized, RangesAreNeeded) {
  PrecisionOptions none;
  none.int8 = true;
  EXPECT_THROW(typed_model(small_net(), none), Error);
}

TEST(Symmetric, CodesThatLieAroundZeroStay) {
  const ScaleEntry around{ElementType::kInt8, 0.5, 0};
  EXPECT_EQ(symmetric(around).scale, 0.5);
  EXPECT_DOUBLE_EQ(symmetric({ElementType::kUint8, 1, 128}).scale, 128.0 / 127);
  EXPECT_DOUBLE_EQ(symmetric({ElementType::kInt8, 1, -128}).scale, 255.0 / 127);
}

}  // namespace
}  // namespace vernier

// Weights as codes: i8 by channel, i4 by block, and those that no code stands for.
#include "vernier/precision/quantized_weights.h"

#include <limits>

#include "precision/typing.h"
#include "vernier/base/file.h"
#include "vernier/onnx/export.h"
#include "vernier/onnx/import.h"
#include "vernier/precision/typed_model.h"

namespace vernier {
namespace {

using testing::HasSubstr;

TEST(QuantizedWeights, BySlice) {
  const Tensor weights = Tensor::from<float>(ElementType::kFloat, {2, 2}, {1, -127, 0, 0});
  const auto rows = quantize_weights(weights, 0);
  EXPECT_EQ(rows.values.to_ints(), (std::vector<int64_t>{1, -127, 0, 0}));
  EXPECT_EQ(rows.scales.to_doubles(), (std::vector<double>{1, 1}));
  const auto columns = quantize_weights(weights, 1);
  EXPECT_EQ(columns.values.to_ints(), (std::vector<int64_t>{127, -127, 0, 0}));
}

// Blocks along the rows of a matrix of three rows: two rows, and the one that is left.
TEST(QuantizedWeights, ByBlock) {
  const Tensor weights = Tensor::from<float>(ElementType::kFloat, {3, 2}, {7, -14, 3, 4, 700, 0});
  const auto blocks = quantize_blocks(weights, 0, 2);
  EXPECT_EQ(blocks.values.type(), ElementType::kInt4);
  EXPECT_EQ(blocks.values.to_ints(), (std::vector<int64_t>{7, -7, 3, 2, 7, 0}));
  EXPECT_EQ(blocks.scales.dims(), (Dims{2, 2}));
  EXPECT_EQ(blocks.scales.to_doubles(), (std::vector<double>{1, 2, 100, 1}));
}

// One weight that is far off must not cost the others their codes.
TEST(QuantizedWeights, ABlockClipsWhereThatIsCheaper) {
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 8) - 3.5F;
  values[9] = 6;
  const Tensor weights = Tensor::from<float>(ElementType::kFloat, {64, 1}, values);
  const auto found = quantize_blocks(weights, 0, 64);
  const double scale = found.scales.to_doubles()[0];
  EXPECT_LT(scale, 6.0 / 7);
  const auto codes = found.values.to_doubles();
  double clipped = 0, whole = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = static_cast<double>(values[i]), step = 6.0 / 7;
    clipped += std::pow(codes[i] * scale - value, 2);
    whole += std::pow(std::nearbyint(value / step) * step - value, 2);
  }
  EXPECT_LT(clipped, whole);
}

TEST(QuantizedWeights, NoCodeStandsForNan) {
  for (const float wrong :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const Tensor weights = Tensor::from<float>(ElementType::kFloat, {2, 2}, {1, 2, wrong, 3});
    EXPECT_THROW(quantize_weights(weights, 0), Error);
    EXPECT_THROW(quantize_blocks(weights, 0, 2), Error);
  }
}

constexpr const char* kTwoProducts = R"(graph "g" (%x: f32[2, 4]) -> (%y) {
  const %w = f32[4, 2] hex"0000803f00000040000040400000804000000041000080410000003f0000c03f"
  const %v = f32[2, 2] hex"0000803f000000400000404000008040"
  %a: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
  %y: f32[*] = Gemm(%a, %v) {transB = 1} version 13 @"gemm" from ["gemm"]
})";

class Blocks : public testing::Test {
 protected:
  PrecisionOptions by(const std::string& calibration) const {
    write_file(folder_.path() / "scales.json", calibration);
    PrecisionOptions options;
    options.int4 = true;
    options.calibration = folder_.path() / "scales.json";
    return options;
  }
  TemporaryFolder folder_;
  Model model_ = parse_graph(kTwoProducts);
};

constexpr const char* kOfProduct = R"({"tensors": {}, "weights": {"product": {"type": "i4", "block": 2}}})";

TEST_F(Blocks, AreWrittenToOnnxAndReadAgain) {
  const TypedModel typed = typed_model(model_, by(kOfProduct));
  EXPECT_EQ(types(*typed.model.graph), "DequantizeLinear:f32 MatMul:f32 Gemm:f32");
  EXPECT_EQ(typed.opset, 24);
  export_model(typed.model, folder_.path() / "blocks.onnx");
  const auto read = import_model(folder_.path() / "blocks.onnx");
  const Node& node = *read.model.graph->nodes().front();
  EXPECT_EQ(node.attribute<int64_t>("block_size", 0), 2);
  EXPECT_EQ(node.attribute<int64_t>("axis", -1), 0);
  EXPECT_EQ(node.input(0)->constant->type(), ElementType::kInt4);
  const NamedData inputs = {
      {"x", Tensor::from<float>(ElementType::kFloat, {2, 4}, {1, 2, 3, 4, -1, 0, 1, 2})}};
  const auto exact = run_reference(model_, inputs).outputs[0].as_tensor().to_doubles(),
             actual = run_reference(read.model, inputs).outputs[0].as_tensor().to_doubles();
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(actual[i], exact[i], 0.15 * std::abs(exact[i]) + 1);
  EXPECT_NE(actual, exact);
}

TEST_F(Blocks, NeedOpset21) {
  Model old = parse_model(fmt::format("model ir=8 opset \"\" 17 {{ {} }}", kTwoProducts));
  ops::infer_types(*old.graph);
  EXPECT_EQ(typed_model(old, by(kOfProduct)).opset, 21);
}

TEST_F(Blocks, OfAPlanAreThoseOfTheOptions) {
  const TypedModel typed = typed_model(model_, by(kOfProduct));
  write_file(folder_.path() / "plan.json", plan_json(typed.plan));
  PrecisionOptions planned;
  planned.plan = folder_.path() / "plan.json";
  EXPECT_EQ(print(typed_model(model_, planned).model), print(typed.model));
}

TEST_F(Blocks, AreRefusedWhereNothingIsSaidOfThem) {
  const auto refusal = [&](const char* calibration) {
    try {
      typed_model(model_, by(calibration));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal(R"({"tensors": {"x": {"min": 0, "max": 1}}})"), HasSubstr("--int4"));
  EXPECT_THAT(refusal(R"({"tensors": {}, "weights": {"other": {"type": "i4", "block": 2}}})"),
              HasSubstr("'other'"));
  EXPECT_THAT(refusal(R"({"tensors": {}, "weights": {"product": {"type": "i4", "block": 0}}})"),
              HasSubstr("'block'"));
  EXPECT_THAT(refusal(R"({"tensors": {}, "weights": {"product": {"type": "i8", "block": 2}}})"),
              HasSubstr("'type'"));
}

TEST_F(Blocks, NanNamesTheNode) {
  for (const auto& value : model_.graph->values()) {
    if (value->name == "w")
      value->constant->mutable_values<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  }
  try {
    typed_model(model_, by(kOfProduct));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_EQ(error.node(), "product");
    EXPECT_THAT(error.what(), HasSubstr("NaN"));
  }
}

}  // namespace
}  // namespace vernier

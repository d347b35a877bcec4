#include "vernier/diagnose/experiments/integer_kernels.h"

#include "diagnose/diagnosed.h"

namespace vernier {
namespace {

// A product of integers with a scale each, of which one is an input.
Model product() {
  Model model = parse_model(R"(model ir=8 opset "" 17 {
  graph "g" (%x: u8[2, 4], %s: f32[], %w: i8[4, 3], %z: f32[3]) -> (%y) {
    const %t = f32[] hex"0000003f"
    %xr: f32[*] = DequantizeLinear(%x, %s) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %t) version 13 @"wd" from ["wd"]
    %y: f32[*] = Gemm(%xr, %wr, %z) version 13 @"p" from ["p"]
  }
  })");
  ops::infer_types(*model.graph);
  return model;
}

TEST(IntegerKernels, SumsHaveTheStepOfBothScales) {
  const Model model = product();
  const Graph& graph = *model.graph;
  const Node& gemm = *graph.nodes().back();
  const std::vector<Tensor> inputs{Tensor(),
                                   Tensor::from_doubles(ElementType::kFloat, {}, std::vector<double>{0.25})};
  EXPECT_EQ(integer_sum_step(gemm, inputs), 0.125);
  EXPECT_EQ(integer_sum_step(gemm), 0);  // where a scale is not known
  EXPECT_EQ(integer_sum_step(*graph.nodes().front(), inputs), 0);
}

TEST(IntegerKernels, ABiasOfIntegersMovesNoSum) {
  const Model model = parse_graph(R"(graph "g" (%x: u8[2, 4], %w: i8[4, 3], %b: i32[3]) -> (%y) {
    const %s = f32[] hex"0000003f"
    %xr: f32[*] = DequantizeLinear(%x, %s) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %s) version 13 @"wd" from ["wd"]
    %br: f32[*] = DequantizeLinear(%b, %s) version 13 @"bd" from ["bd"]
    %y: f32[*] = Gemm(%xr, %wr, %br) version 13 @"p" from ["p"]
  })");
  EXPECT_EQ(integer_sum_step(*model.graph->nodes().back()), 0);
}

TEST(IntegerKernels, OnlyThoseThatSumIntegersRoundTheBias) {
  NumericsContract contract;
  contract.accumulated = ElementType::kInt32;
  EXPECT_TRUE(may_sum_integers(&contract));
  EXPECT_TRUE(may_sum_integers(nullptr));
  contract.accumulated = ElementType::kFloat;
  EXPECT_FALSE(may_sum_integers(&contract));
}

constexpr const char* kQuantizer = R"(graph "g" (%x: f32[1, 256]) -> (%y) {
    const %s = f32[] hex"0000003f"
    const %z = i8[] hex"00"
    %y: i8[*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
  })";

// Every other one lies on a tie of codes, which are twice these.
NamedData quarters() {
  std::vector<double> values;
  for (int i = 0; i < 256; ++i) values.push_back((i - 128) * 0.25);
  return {{"x", Tensor::from_doubles(ElementType::kFloat, {1, 256}, values)}};
}

// Makes codes by `rule` of what is to be rounded, and of its place.
Plant codes_by(const std::function<double(double real, size_t place)>& rule) {
  return [rule](const Node&, std::span<const Datum* const> operands, std::vector<Datum>& results) {
    auto values = operands[0]->tensor.to_doubles();
    for (size_t i = 0; i < values.size(); ++i) values[i] = rule(values[i] * 2, i);
    results[0] = Tensor::from_doubles(ElementType::kInt8, results[0].tensor.dims(), values);
  };
}

std::string sentence_of(const NamedData& inputs, const Plant& plant) {
  const Diagnosis diagnosis = diagnosed(kQuantizer, inputs, plant);
  return diagnosis.root_causes.empty() ? "none" : diagnosis.root_causes.front().sentence;
}

TEST(IntegerKernels, TiesThatAreAllRoundedOtherwiseAreNoChance) {
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t) { return std::floor(real + 0.5); })),
            "'q': ties are rounded up");
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t) { return std::round(real); })),
            "'q': ties are rounded away from zero");
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t) { return std::nearbyint(real); })),
            "none");
  // Numbers that lie there by chance are rounded either way.
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t place) {
                          return std::nearbyint(real + (place % 3 == 0 ? 1e-3 : -1e-3));
                        })),
            "none");
}

// Sums of integers move a number over a tie that it lies beside, and one that lies on a tie as well.
TEST(IntegerKernels, AFewStepsBesideTiesAreNoFault) {
  NamedData inputs = quarters();
  auto values = inputs.at("x").tensor.mutable_values<float>();
  values[10] = 29.50004F / 2;
  values[20] = 12.49996F / 2;
  const auto moved = [](size_t also) {
    return codes_by([also](double real, size_t place) {
      if (place == 10) return 29.0;
      if (place == 20) return 13.0;
      return place == also ? std::floor(real + 0.5) : std::nearbyint(real);
    });
  };
  EXPECT_EQ(sentence_of(inputs, moved(10)), "none");
  EXPECT_EQ(sentence_of(inputs, moved(129)), "none");
  values[30] = 12.4F / 2;  // not beside a tie
  EXPECT_NE(sentence_of(inputs, codes_by([](double real, size_t place) {
                          return std::nearbyint(real) + (place == 30 ? 1 : 0);
                        })),
            "none");
}

}  // namespace
}  // namespace vernier

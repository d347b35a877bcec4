// Every hazard that data show has a smallest model and data on which it fires, and a healthy twin on which it
// does not.
#include "vernier/check/data_check.h"

#include <gtest/gtest.h>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/check/check.h"
#include "vernier/ir/text.h"

namespace vernier {
namespace {

struct Case {
  const char* rule;
  const char* node;
  const char* body;                   // makes %y of %x
  std::vector<double> sick, healthy;  // elements of x
  const char* type = "f32";
  std::optional<ElementType> assume = {};
};

// Little-endian bytes of constants: f32 1.0 is 0000803f, 0.1 cdcccc3d.
const Case kCases[] = {
    {"B2-activation-overflow",
     "mul",
     "%y: f32[4] = Mul(%x, %x) version 17 @\"mul\" from [\"mul\"]",
     {1, 2, 300, 4},
     {1, 2, 100, 4},
     "f32",
     ElementType::kFloat16},
    {"B2-little-headroom",
     "mul",
     "%y: f32[4] = Mul(%x, %x) version 17 @\"mul\" from [\"mul\"]",
     {1, 2, 200, 4},
     {1, 2, 100, 4},
     "f32",
     ElementType::kFloat16},
    {"B4-activation-underflow",
     "mul",
     "%y: f32[4] = Mul(%x, %x) version 17 @\"mul\" from [\"mul\"]",
     {1e-5, 2e-5, 0, 1e-6},
     {1e-5, 2e-5, 0, 1},
     "f32",
     ElementType::kFloat16},
    {"B5-denominator-underflow",
     "div",
     "const %c = f32[] hex\"0000803f\" %y: f32[4] = Div(%c, %x) version 17 @\"div\" from [\"div\"]",
     {1, 1, 1e-9, 1},
     {1, 1, 1e-4, 1},
     "f32",
     ElementType::kFloat16},
    {"B5-denominator-underflow",
     "div",
     "const %c = f32[] hex\"0000803f\" %y: f32[4] = Div(%c, %x) version 17 @\"div\" from [\"div\"]",
     {1, 1, 1e-39, 1},
     {1, 1, 1e-9, 1}},
    {"B7-large-scores",
     "sm",
     "%y: f32[4] = Softmax(%x) version 17 @\"sm\" from [\"sm\"]",
     {1000, 999, 998, 0},
     {1000, 900, 10, 0},
     "f32",
     ElementType::kFloat16},
    {"B7-large-scores",
     "sm",
     "%y: f32[4] = Softmax(%x) version 17 @\"sm\" from [\"sm\"]",
     {4e6, 4e6, 0, 0},
     {1000, 999, -3e38, 0}},
    {"B7-large-scores",
     "sm",
     "%y: f32[4] = Softmax(%x) {axis = 0} version 11 @\"sm\" from [\"sm\"]",
     {4e6, 4e6, 0, 0},
     {-3e38, -3e38, -3e38, -3e38}},
    {"B12-large-mean",
     "ln",
     "const %s = f32[4] hex\"0000803f0000803f0000803f0000803f\" %y: f32[4] = LayerNormalization(%x, %s) "
     "version 17 @\"ln\" from [\"ln\"]",
     {10000, 10000.5, 9999, 10001},
     {-1, 2, 3, 1}},
    {"B12-large-mean",
     "ln",
     "const %s = f32[4] hex\"0000803f0000803f0000803f0000803f\" %y: f32[4] = LayerNormalization(%x, %s) "
     "version 17 @\"ln\" from [\"ln\"]",
     {100, 101, 100, 101},
     {7, 7, 7, 7},
     "f32",
     ElementType::kBFloat16},
    {"B16-first-nan",
     "rt",
     "%y: f32[4] = Sqrt(%x) version 17 @\"rt\" from [\"rt\"]",
     {1, -1, 2, 3},
     {1, 0, 2, 3}},
    {"B16-first-infinity",
     "exp",
     "%e: f32[4] = Exp(%x) version 17 @\"exp\" from [\"exp\"]\n %y: f32[4] = Neg(%e) version 17 @\"neg\" "
     "from "
     "[\"neg\"]",
     {1, 100, 2, 3},
     {1, 80, 2, 3}},
    {"B16-first-infinity",
     "mul",
     "%y: f16[4] = Mul(%x, %x) version 17 @\"mul\" from [\"mul\"]",
     {1, 300, 2, 3},
     {1, 100, 2, 3},
     "f16"},
    {"B16-input-not-finite",
     "",
     "%y: f32[4] = Relu(%x) version 17 @\"r\" from [\"r\"]",
     {1, std::nan(""), 2, 3},
     {1, 0, 2, 3}},
    {"B20-saturation",
     "q",
     "const %s = f32[] hex\"cdcccc3d\" const %z = i8[] hex\"00\" %y: i8[4] = QuantizeLinear(%x, %s, %z) "
     "version 17 @\"q\" from [\"q\"]",
     {1, -20, 2, 12},
     {1, -12.8, 2, 12}},
    {"B20-saturation",
     "q",  // what is below the lowest code of a zero point there is cut off by intent
     "const %s = f32[] hex\"cdcccc3d\" const %z = u8[] hex\"00\" %y: u8[4] = QuantizeLinear(%x, %s, %z) "
     "version 17 @\"q\" from [\"q\"]",
     {1, 2, 40, 12},
     {1, -30, 2, 25}},
    {"B20-coarse-scale",
     "q",
     "const %s = f32[] hex\"cdcccc3d\" const %z = i8[] hex\"00\" %y: i8[4] = QuantizeLinear(%x, %s, %z) "
     "version 17 @\"q\" from [\"q\"]",
     {0.1, -0.2, 0.3, 0.1},
     {1, -2, 3, 1}},
};

std::vector<Finding> findings_of(const Case& test, const std::vector<std::vector<double>>& samples) {
  const std::string text = fmt::format(
      "model ir=8 opset \"\" 17 {{ graph \"g\" (%x: {}[4]) -> (%y) {{\n{} }} }}", test.type, test.body);
  const Model model = parse_model(text);
  DataCheck check(model, {.assume = test.assume});
  InterpreterOptions options;
  options.observe = [&](const Value& value, const Datum& datum) { check.observe(value, datum); };
  for (const auto& elements : samples) {
    const Datum x = Tensor::from_doubles(*parse_element_type(test.type), {4}, elements);
    check.observe(*model.graph->inputs[0], x);
    run_reference(model, {{"x", x}}, options);
  }
  return check.findings();
}

const Finding* find(const std::vector<Finding>& findings, const std::string& rule) {
  for (const Finding& finding : findings) {
    if (finding.rule == rule) return &finding;
  }
  return nullptr;
}

void PrintTo(const Case& test, std::ostream* out) {
  *out << test.rule;
}

class DataRule : public testing::TestWithParam<Case> {};

TEST_P(DataRule, FiresOnItsHazardAndNotOnItsTwin) {
  const Case& test = GetParam();
  // One sick sample among healthy ones is enough, but for hazards that healthy samples refute.
  const bool of_all =
      std::string(test.rule) == "B20-coarse-scale" || std::string(test.rule) == "B4-activation-underflow";
  const auto findings = of_all ? findings_of(test, {test.sick, test.sick})
                               : findings_of(test, {test.healthy, test.sick, test.healthy});
  if (of_all) {
    EXPECT_TRUE(findings_of(test, {test.sick, test.healthy}).empty());
  }
  const Finding* finding = find(findings, test.rule);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->node, test.node);
  EXPECT_FALSE(finding->message.empty() || finding->remedy.empty());
  const auto healthy = findings_of(test, {test.healthy, test.healthy});
  EXPECT_TRUE(healthy.empty()) << healthy[0].rule;
}

INSTANTIATE_TEST_SUITE_P(All, DataRule, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = fmt::format("{}_{}", info.param.rule, info.index);
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

// FP16 rounds what is below 65520 to 65504.
TEST(DataCheck, ActivationsOverflowWhereFp16RoundsThemToInfinity) {
  const Case test{"",
                  "",
                  "%y: f32[4] = Relu(%x) version 14 @\"relu\" from [\"relu\"]",
                  {},
                  {},
                  "f32",
                  ElementType::kFloat16};
  EXPECT_NE(find(findings_of(test, {{1, 2, 3, 65519.99}}), "B2-little-headroom"), nullptr);
  EXPECT_NE(find(findings_of(test, {{1, 2, 3, 65520}}), "B2-activation-overflow"), nullptr);
}

// Infinite constants, as of masks, are no news where they go through.
TEST(DataCheck, ConstantsMayBeInfinite) {
  const Case test{
      "",
      "",
      "const %m = f32[4] hex\"000080ff000000000000000000000000\" %a: f32[4] = Add(%x, %m) version 17 "
      "@\"mask\" from [\"mask\"]\n %y: f32[4] = Softmax(%a) version 17 @\"sm\" from [\"sm\"]",
      {},
      {}};
  EXPECT_TRUE(findings_of(test, {{1, 2, 3, 4}}).empty());
}

// A fail-open finding in other tools: a NaN never compares as too large, so a tensor that holds one counts as
// within the range of FP16, and one NaN hides the overflow beside it.
TEST(FailOpen, F13ANaNIsNeverWithinRangeAndHidesNothing) {
  const Case test{
      "",
      "",
      "%l: f32[4] = Log(%x) version 13 @\"log\" from [\"log\"]\n %y: f32[4] = Mul(%l, %x) version 14 "
      "@\"mul\" from [\"mul\"]",
      {},
      {},
      "f32",
      ElementType::kFloat16};
  const auto findings = findings_of(test, {{-1, 1e6, 2, 3}});
  const Finding *nan = find(findings, "B16-first-nan"), *overflow = find(findings, "B2-activation-overflow");
  ASSERT_NE(nan, nullptr);
  EXPECT_EQ(nan->node, "log");
  ASSERT_NE(overflow, nullptr);
  EXPECT_EQ(overflow->node, "mul");
}

// Another: weights below the smallest number of FP16 become that number, whatever their sign, without a
// count.
TEST(FailOpen, F14TinyWeightsKeepTheirSignAndAreCounted) {
  const Tensor half =
      Tensor::from_doubles(ElementType::kFloat16, {4}, std::vector<double>{-1e-9, 1e-9, -7e-8, 1});
  const auto bits = half.values<uint16_t>();
  EXPECT_EQ(bits[0], 0x8000);  // -0
  EXPECT_EQ(bits[1], 0x0000);
  EXPECT_EQ(bits[2], 0x8001);  // the smallest, negative
  // One column of weights of -1e-9 and 1e-9, one of ones.
  const Model model = parse_model(
      "model ir=8 opset \"\" 17 { graph \"g\" (%x: f32[1, 2]) -> (%y) {\n"
      "const %w = f32[2, 2] hex\"5f7089b00000803f5f7089300000803f\"\n"
      "%y: f32[1, 2] = MatMul(%x, %w) version 13 @\"product\" from [\"product\"] } }");
  const auto findings = check(model, {}, {.assume = ElementType::kFloat16});
  const Finding* underflow = find(findings, "B4-weight-underflow");
  ASSERT_NE(underflow, nullptr);
  EXPECT_EQ(underflow->node, "product");
  EXPECT_NE(underflow->message.find("1 of 2 output channels"), std::string::npos) << underflow->message;
}

TEST(DataCheck, RanksByEffect) {
  const Case test{
      "",
      "",
      "%e: f32[4] = Exp(%x) version 17 @\"exp\" from [\"exp\"]\n %y: f32[4] = Sub(%e, %e) version 17 "
      "@\"sub\" from [\"sub\"]",
      {},
      {}};
  const auto findings = findings_of(test, {{1, 200, 3, 4}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "B16-first-nan");
  EXPECT_EQ(findings[0].node, "sub");
  EXPECT_EQ(findings[1].rule, "B16-first-infinity");
  EXPECT_EQ(findings[1].node, "exp");
}

}  // namespace
}  // namespace vernier

// Every rule has a smallest model on which it fires, and a healthy twin on which it is silent.
#include "vernier/check/check.h"

#include <gtest/gtest.h>

#include "vernier/ir/text.h"

namespace vernier {
namespace {

struct Case {
  const char* rule;
  const char* sick;
  const char* healthy;  // the body of the same graph without the hazard
  const char* inputs = "%x: f16[4, 64]";
  int64_t opset = 17;
};

// Little-endian bytes of constants, to be read without a calculator: f16 1e-12 is 0, f32 1.0 is 0000803f.
const Case kCases[] = {
    {"B1-norm-overflow",
     "%s: f16[4, 64] = Mul(%x, %x) version 17 @\"sq\" from [\"sq\"]\n %y: f16[4, 1] = ReduceSum(%s, %axes) "
     "version 17 @\"sum\" from [\"sum\"]",
     "%s: f16[4, 64] = Mul(%x, %x) version 17 @\"sq\" from [\"sq\"]\n %y: f16[4, 1] = ReduceMax(%s, %axes) "
     "version 17 @\"sum\" from [\"sum\"]"},
    {"B4-weight-underflow",
     "const %w = f16[2, 1] hex\"01000100\" %y: f16[4, 1] = Gemm(%x, %w) version 17 @\"fc\" from [\"fc\"]",
     "const %w = f16[2, 1] hex\"003c0100\" %y: f16[4, 1] = Gemm(%x, %w) {transB = 0} version 17 @\"fc\" from "
     "[\"fc\"]\n"},
    {"B5-epsilon-lost",
     "const %e = f16[] hex\"0000\" %a: f16[4, 64] = Add(%x, %e) version 17 @\"eps\" from [\"eps\"]\n %y: "
     "f16[4, 64] = Sqrt(%a) version 17 @\"rt\" from [\"rt\"]",
     "const %e = f16[] hex\"1000\" %a: f16[4, 64] = Add(%x, %e) version 17 @\"eps\" from [\"eps\"]\n %y: "
     "f16[4, 64] = Sqrt(%a) version 17 @\"rt\" from [\"rt\"]"},
    {"B6-mask-sentinel",
     "const %m = f16[] hex\"00fc\" %y: f16[4, 64] = Add(%x, %m) version 17 @\"mask\" from [\"mask\"]",
     "const %m = f16[] hex\"e2f0\" %y: f16[4, 64] = Add(%x, %m) version 17 @\"mask\" from [\"mask\"]"},
    {"B7-late-scale",
     "const %c = f16[] hex\"0030\" %s: f16[4, 4] = MatMul(%x, %x) version 17 @\"qk\" from [\"qk\"]\n %t: "
     "f16[4, 4] = Mul(%s, %c) version 17 @\"scale\" from [\"scale\"]\n %y: f16[4, 4] = Softmax(%t) version "
     "17 @\"sm\" from [\"sm\"]",
     "const %c = f16[] hex\"0030\" %q: f16[4, 64] = Mul(%x, %c) version 17 @\"scale\" from [\"scale\"]\n %t: "
     "f16[4, 4] = MatMul(%q, %x) version 17 @\"qk\" from [\"qk\"]\n %y: f16[4, 4] = Softmax(%t) version 17 "
     "@\"sm\" from [\"sm\"]"},
    {"B8-long-sum", "%y: f16[1] = ReduceSum(%x) {axes = ints[0]} version 11 @\"sum\" from [\"sum\"]",
     "%y: f16[1] = ReduceMax(%x) {axes = ints[0]} version 11 @\"sum\" from [\"sum\"]", "%x: f16[4096]"},
    {"B10-integers-in-floats",
     "%f: f16[] = Cast(%x) {to = 10} version 17 @\"down\" from [\"down\"]\n %h: f16[] = Floor(%f) version 17 "
     "@\"fl\" from [\"fl\"]\n %y: i64[] = Cast(%h) {to = 7} version 17 @\"up\" from [\"up\"]",
     "%f: f32[] = Cast(%x) {to = 1} version 17 @\"down\" from [\"down\"]\n %h: f32[] = Floor(%f) version 17 "
     "@\"fl\" from [\"fl\"]\n %y: i64[] = Cast(%h) {to = 7} version 17 @\"up\" from [\"up\"]",
     "%x: i64[]"},
    {"B11-large-argument", "%y: f16[4] = Sin(%x) version 17 @\"sin\" from [\"sin\"]",
     "%y: f16[4] = Tanh(%x) version 17 @\"sin\" from [\"sin\"]", "%x: f16[4]"},
    {"B12-cancelling-variance",
     "%s: f32[4] = Mul(%x, %x) version 17 @\"sq\" from [\"sq\"]\n %a: f32[1] = ReduceMean(%s) version 17 "
     "@\"m2\" from [\"m2\"]\n %m: f32[1] = ReduceMean(%x) version 17 @\"m\" from [\"m\"]\n %b: f32[1] = "
     "Mul(%m, %m) version 17 @\"mm\" from [\"mm\"]\n %y: f32[1] = Sub(%a, %b) version 17 @\"var\" from "
     "[\"var\"]",
     "%m: f32[1] = ReduceMean(%x) version 17 @\"m\" from [\"m\"]\n %d: f32[4] = Sub(%x, %m) version 17 "
     "@\"var\" from [\"var\"]\n %s: f32[4] = Mul(%d, %d) version 17 @\"sq\" from [\"sq\"]\n %y: f32[1] = "
     "ReduceMean(%s) version 17 @\"m2\" from [\"m2\"]",
     "%x: f32[4]"},
    {"B14-cast-chain",
     "%h: f16[4] = Cast(%x) {to = 10} version 17 @\"down\" from [\"down\"]\n %y: f32[4] = Cast(%h) {to = 1} "
     "version 17 @\"up\" from [\"up\"]",
     "%h: f64[4] = Cast(%x) {to = 11} version 17 @\"down\" from [\"down\"]\n %y: f32[4] = Cast(%h) {to = 1} "
     "version 17 @\"up\" from [\"up\"]",
     "%x: f32[4]"},
    {"B15-coarse-grid",
     "const %g = bf16[2] hex\"16440000\" %y: bf16[2] = Add(%x, %g) version 17 @\"grid\" from [\"grid\"]",
     "const %g = bf16[2] hex\"803f0000\" %y: bf16[2] = Add(%x, %g) version 17 @\"grid\" from [\"grid\"]",
     "%x: bf16[2]"},
    {"B16-damaged-weight",
     "const %w = f32[1, 1] hex\"0000c07f\" %y: f32[4, 1] = MatMul(%x, %w) version 17 @\"fc\" from [\"fc\"]",
     "const %w = f32[1, 1] hex\"0000803f\" %y: f32[4, 1] = MatMul(%x, %w) version 17 @\"fc\" from [\"fc\"]",
     "%x: f32[4, 1]"},
    {"B23-invalid-scale",
     "const %s = f32[] hex\"00000000\" %y: u8[4] = QuantizeLinear(%x, %s) version 17 @\"q\" from [\"q\"]",
     "const %s = f32[] hex\"0000803f\" %y: u8[4] = QuantizeLinear(%x, %s) version 17 @\"q\" from [\"q\"]",
     "%x: f32[4]"},
    {"B24-uneven-channels",
     "const %w = i8[2, 2] hex\"7f7f0101\" const %s = f32[] hex\"0000803f\" %d: f32[2, 2] = "
     "DequantizeLinear(%w, %s) version 17 @\"dq\" from [\"dq\"]\n %y: f32[4, 2] = Gemm(%x, %d) {transB = 1} "
     "version 17 @\"fc\" from [\"fc\"]",
     "const %w = i8[2, 2] hex\"7f7f4001\" const %s = f32[] hex\"0000803f\" %d: f32[2, 2] = "
     "DequantizeLinear(%w, %s) version 17 @\"dq\" from [\"dq\"]\n %y: f32[4, 2] = Gemm(%x, %d) {transB = 1} "
     "version 17 @\"fc\" from [\"fc\"]",
     "%x: f32[4, 2]"},
    {"B25-symmetric-gate",
     "const %s = f32[] hex\"0000803f\" const %z = i8[] hex\"00\" %g: f32[4] = Sigmoid(%x) version 17 "
     "@\"sig\" from [\"sig\"]\n %a: f32[4] = Mul(%x, %g) version 17 @\"mul\" from [\"mul\"]\n %y: i8[4] = "
     "QuantizeLinear(%a, %s, %z) version 17 @\"q\" from [\"q\"]",
     "const %s = f32[] hex\"0000803f\" const %z = i8[] hex\"81\" %g: f32[4] = Sigmoid(%x) version 17 "
     "@\"sig\" from [\"sig\"]\n %a: f32[4] = Mul(%x, %g) version 17 @\"mul\" from [\"mul\"]\n %y: i8[4] = "
     "QuantizeLinear(%a, %s, %z) version 17 @\"q\" from [\"q\"]",
     "%x: f32[4]"},
    {"B26-unequal-concat",
     "const %s = f32[] hex\"0000803f\" const %t = f32[] hex\"00008042\" %a: f32[4] = DequantizeLinear(%x, "
     "%s) version 17 @\"dq\" from [\"dq\"]\n %c: f32[8] = Concat(%a, %a) {axis = 0} version 17 @\"cat\" from "
     "[\"cat\"]\n %y: u8[8] = QuantizeLinear(%c, %t) version 17 @\"q\" from [\"q\"]",
     "const %s = f32[] hex\"0000803f\" const %t = f32[] hex\"00000040\" %a: f32[4] = DequantizeLinear(%x, "
     "%s) version 17 @\"dq\" from [\"dq\"]\n %c: f32[8] = Concat(%a, %a) {axis = 0} version 17 @\"cat\" from "
     "[\"cat\"]\n %y: u8[8] = QuantizeLinear(%c, %t) version 17 @\"q\" from [\"q\"]",
     "%x: u8[4]"},
    {"B27-unequal-add",
     "const %s = f32[] hex\"0000803f\" const %t = f32[] hex\"00008042\" %a: f32[4] = DequantizeLinear(%x, "
     "%s) version 17 @\"dq\" from [\"dq\"]\n %c: f32[4] = Add(%a, %a) version 17 @\"add\" from [\"add\"]\n "
     "%y: u8[4] = QuantizeLinear(%c, %t) version 17 @\"q\" from [\"q\"]",
     "const %s = f32[] hex\"0000803f\" const %t = f32[] hex\"00000040\" %a: f32[4] = DequantizeLinear(%x, "
     "%s) version 17 @\"dq\" from [\"dq\"]\n %c: f32[4] = Add(%a, %a) version 17 @\"add\" from [\"add\"]\n "
     "%y: u8[4] = QuantizeLinear(%c, %t) version 17 @\"q\" from [\"q\"]",
     "%x: u8[4]"},
    {"B28-bias-scale",
     "const %s = f32[] hex\"0000803f\" const %t = f32[] hex\"00000040\" const %w = i8[2, 2] hex\"7f7f7f7f\" "
     "const %b = i32[2] hex\"0100000001000000\" %a: f32[4, 2] = DequantizeLinear(%x, %s) version 17 @\"dq\" "
     "from [\"dq\"]\n %v: f32[2, 2] = DequantizeLinear(%w, %s) version 17 @\"dqw\" from [\"dqw\"]\n %u: "
     "f32[2] = DequantizeLinear(%b, %t) version 17 @\"dqb\" from [\"dqb\"]\n %y: f32[4, 2] = Gemm(%a, %v, "
     "%u) version 17 @\"fc\" from [\"fc\"]",
     "const %s = f32[] hex\"0000803f\" const %w = i8[2, 2] hex\"7f7f7f7f\" const %b = i32[2] "
     "hex\"0100000001000000\" %a: f32[4, 2] = DequantizeLinear(%x, %s) version 17 @\"dq\" from [\"dq\"]\n "
     "%v: f32[2, 2] = DequantizeLinear(%w, %s) version 17 @\"dqw\" from [\"dqw\"]\n %u: f32[2] = "
     "DequantizeLinear(%b, %s) version 17 @\"dqb\" from [\"dqb\"]\n %y: f32[4, 2] = Gemm(%a, %v, %u) version "
     "17 @\"fc\" from [\"fc\"]",
     "%x: u8[4, 2]"},
    {"B28-saturated-bias",
     "const %s = f32[] hex\"0000803f\" const %w = i8[2, 2] hex\"7f7f7f7f\" const %b = i32[2] "
     "hex\"ffffff7f01000000\" %a: f32[4, 2] = DequantizeLinear(%x, %s) version 17 @\"dq\" from [\"dq\"]\n "
     "%v: f32[2, 2] = DequantizeLinear(%w, %s) version 17 @\"dqw\" from [\"dqw\"]\n %u: f32[2] = "
     "DequantizeLinear(%b, %s) version 17 @\"dqb\" from [\"dqb\"]\n %y: f32[4, 2] = Gemm(%a, %v, %u) version "
     "17 @\"fc\" from [\"fc\"]",
     "const %s = f32[] hex\"0000803f\" const %w = i8[2, 2] hex\"7f7f7f7f\" const %b = i32[2] "
     "hex\"ffffff3f01000000\" %a: f32[4, 2] = DequantizeLinear(%x, %s) version 17 @\"dq\" from [\"dq\"]\n "
     "%v: f32[2, 2] = DequantizeLinear(%w, %s) version 17 @\"dqw\" from [\"dqw\"]\n %u: f32[2] = "
     "DequantizeLinear(%b, %s) version 17 @\"dqb\" from [\"dqb\"]\n %y: f32[4, 2] = Gemm(%a, %v, %u) version "
     "17 @\"fc\" from [\"fc\"]",
     "%x: u8[4, 2]"},
    {"B32-clip-bounds",
     "const %a = f32[] hex\"0000803f\" const %b = f32[] hex\"00000000\" %y: f32[4] = Clip(%x, %a, %b) "
     "version 17 @\"clip\" from [\"clip\"]",
     "const %a = f32[] hex\"0000803f\" const %b = f32[] hex\"00000000\" %y: f32[4] = Clip(%x, %b, %a) "
     "version 17 @\"clip\" from [\"clip\"]",
     "%x: f32[4]"},
    {"B33-pool-divisor",
     "%y: f32[1, 1, 3, 3] = AveragePool(%x) {ceil_mode = 1, count_include_pad = 1, pads = ints[1, 1, 1, 1]} "
     "version 17 @\"pool\" from [\"pool\"]",
     "%y: f32[1, 1, 3, 3] = AveragePool(%x) {ceil_mode = 1, count_include_pad = 1, pads = ints[0, 0, 0, 0]} "
     "version 17 @\"pool\" from [\"pool\"]",
     "%x: f32[1, 1, 4, 4]"},
    {"B34-resize-size",
     "const %s = f32[1] hex\"feff3f40\" %y: f32[29] = Resize(%x, _, %s) version 17 @\"rs\" from [\"rs\"]",
     "const %s = f32[1] hex\"00004040\" %y: f32[30] = Resize(%x, _, %s) version 17 @\"rs\" from [\"rs\"]",
     "%x: f32[10]"},
    {"B35-batch-norm",
     "const %a = f32[1] hex\"0000803f\" const %v = f32[1] hex\"000080bf\" %y: f32[4, 1] = "
     "BatchNormalization(%x, %a, %a, %a, %v) version 17 @\"bn\" from [\"bn\"]",
     "const %a = f32[1] hex\"0000803f\" %y: f32[4, 1] = BatchNormalization(%x, %a, %a, %a, %a) version 17 "
     "@\"bn\" from [\"bn\"]",
     "%x: f32[4, 1]"},
    {"B36-flattened-softmax", "%y: f32[2, 3, 4] = Softmax(%x) version 11 @\"sm\" from [\"sm\"]",
     "%y: f32[2, 3, 4] = Softmax(%x) {axis = 2} version 11 @\"sm\" from [\"sm\"]", "%x: f32[2, 3, 4]", 11},
    {"B37-wide-integer",
     "const %c = i64[] hex\"0000000001000000\" %y: i64[] = Mul(%x, %c) version 17 @\"mul\" from [\"mul\"]",
     "const %c = i64[] hex\"0100000000000000\" %y: i64[] = Mul(%x, %c) version 17 @\"mul\" from [\"mul\"]",
     "%x: i64[]"},
    {"B38-frozen-reshape",
     "const %s = i64[1] hex\"0400000000000000\" %y: f32[4] = Reshape(%x, %s) version 17 @\"rs\" from "
     "[\"rs\"]",
     "const %s = i64[1] hex\"ffffffffffffffff\" %y: f32[N * 2] = Reshape(%x, %s) version 17 @\"rs\" from "
     "[\"rs\"]",
     "%x: f32[N, 2]"},
    {"B39-index-out-of-range",
     "const %i = i64[1] hex\"0400000000000000\" %y: f32[1] = Gather(%x, %i) version 17 @\"g\" from [\"g\"]",
     "const %i = i64[1] hex\"0300000000000000\" %y: f32[1] = Gather(%x, %i) version 17 @\"g\" from [\"g\"]",
     "%x: f32[4]"},
    {"B39-duplicate-index",
     "const %i = i64[2, 1] hex\"01000000000000000100000000000000\" const %u = f32[2] hex\"0000803f0000803f\" "
     "%y: f32[4] = ScatterND(%x, %i, %u) version 17 @\"s\" from [\"s\"]",
     "const %i = i64[2, 1] hex\"01000000000000000200000000000000\" const %u = f32[2] hex\"0000803f0000803f\" "
     "%y: f32[4] = ScatterND(%x, %i, %u) version 17 @\"s\" from [\"s\"]",
     "%x: f32[4]"},
    {"B40-unsorted-topk",
     "const %k = i64[1] hex\"0200000000000000\" %y: f32[2], _ = TopK(%x, %k) {sorted = 0} version 17 "
     "@\"top\" from [\"top\"]",
     "const %k = i64[1] hex\"0200000000000000\" %y: f32[2], _ = TopK(%x, %k) version 17 @\"top\" from "
     "[\"top\"]",
     "%x: f32[4]"},
    {"B48-training-mode",
     "const %r = f32[] hex\"0000003f\" const %t = bool[] hex\"01\" %y: f32[4] = Dropout(%x, %r, %t) version "
     "17 @\"drop\" from [\"drop\"]",
     "const %r = f32[] hex\"0000003f\" const %t = bool[] hex\"00\" %y: f32[4] = Dropout(%x, %r, %t) version "
     "17 @\"drop\" from [\"drop\"]",
     "%x: f32[4]"},
    {"S3-dead-node",
     "%d: f32[4] = Exp(%x) version 17 @\"dead\" from [\"dead\"]\n %y: f32[4] = Relu(%x) version 17 @\"r\" "
     "from [\"r\"]",
     "%d: f32[4] = Exp(%x) version 17 @\"dead\" from [\"dead\"]\n %y: f32[4] = Relu(%d) version 17 @\"r\" "
     "from [\"r\"]",
     "%x: f32[4]"},
};

std::vector<Finding> findings_of(const Case& test, const char* body, const CheckOptions& options = {}) {
  const std::string axes = std::string(body).find("%axes") != std::string::npos ? ", %axes: i64[1]" : "";
  const std::string text = fmt::format("model ir=8 opset \"\" {} {{ graph \"g\" ({}{}) -> (%y) {{\n{} }} }}",
                                       test.opset, test.inputs, axes, body);
  return check(parse_model(text), {}, options);
}

bool fires(const std::vector<Finding>& findings, const std::string& rule) {
  for (const Finding& finding : findings) {
    if (finding.rule == rule) return !finding.message.empty() && !finding.remedy.empty();
  }
  return false;
}

class CheckRule : public testing::TestWithParam<Case> {};

TEST_P(CheckRule, FiresOnItsHazardAndNotOnItsTwin) {
  EXPECT_TRUE(fires(findings_of(GetParam(), GetParam().sick), GetParam().rule));
  EXPECT_FALSE(fires(findings_of(GetParam(), GetParam().healthy), GetParam().rule));
}

INSTANTIATE_TEST_SUITE_P(All, CheckRule, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.rule;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Check, WeightsOfEveryOperatorMayBeDamaged) {
  const Case test{
      "B16-damaged-weight",
      "const %g = f32[2] hex\"0000c07f0000803f\" %y: f32[4, 2] = LayerNormalization(%x, %g) version "
      "17 @\"ln\" from [\"ln\"]",
      "const %m = f32[2] hex\"000080ff00000000\" %y: f32[4, 2] = Add(%x, %m) version 17 @\"mask\" "
      "from [\"mask\"]",
      "%x: f32[4, 2]"};
  EXPECT_TRUE(fires(findings_of(test, test.sick), test.rule));
  EXPECT_FALSE(fires(findings_of(test, test.healthy), test.rule));
}

// Its columns count output channels: one of them has small numbers alone.
TEST(Check, OneScaleMayServeUnevenChannelsOfAMatMul) {
  const Case test{
      "B24-uneven-channels",
      "const %w = i8[2, 2] hex\"7f017f01\" const %s = f32[] hex\"0000803f\" %d: f32[2, 2] = "
      "DequantizeLinear(%w, %s) version 17 @\"dq\" from [\"dq\"]\n %y: f32[2, 2] = MatMul(%x, %d) "
      "version 17 @\"fc\" from [\"fc\"]",
      "const %w = i8[2, 2] hex\"7f7f0101\" const %s = f32[] hex\"0000803f\" %d: f32[2, 2] = "
      "DequantizeLinear(%w, %s) version 17 @\"dq\" from [\"dq\"]\n %y: f32[2, 2] = MatMul(%x, %d) "
      "version 17 @\"fc\" from [\"fc\"]",
      "%x: f32[2, 2]"};
  EXPECT_TRUE(fires(findings_of(test, test.sick), test.rule));
  EXPECT_FALSE(fires(findings_of(test, test.healthy), test.rule));
}

TEST(Check, TheBiasOfATransposedConvolutionHasAScale) {
  const auto body = [](const char* scale) {
    return fmt::format(
        "const %s = f32[] hex\"0000803f\" const %t = f32[] hex\"{}\" const %w = i8[2, 2, 1] hex\"7f7f7f7f\" "
        "const %b = i32[2] hex\"0100000001000000\" %a: f32[1, 2, 1] = DequantizeLinear(%x, %s) version 17 "
        "@\"dq\" from [\"dq\"]\n %v: f32[2, 2, 1] = DequantizeLinear(%w, %s) version 17 @\"dqw\" from "
        "[\"dqw\"]\n %u: f32[2] = DequantizeLinear(%b, %t) version 17 @\"dqb\" from [\"dqb\"]\n %y: f32[1, "
        "2, "
        "1] = ConvTranspose(%a, %v, %u) version 17 @\"up\" from [\"up\"]",
        scale);
  };
  const Case test{"B28-bias-scale", "", "", "%x: u8[1, 2, 1]"};
  EXPECT_TRUE(fires(findings_of(test, body("00000040").c_str()), test.rule));
  EXPECT_FALSE(fires(findings_of(test, body("0000803f").c_str()), test.rule));
}

TEST(Check, JudgesAsIfLoweredWhenAsked) {
  const Case test{"", "%y: f32[4] = Sin(%x) version 17 @\"sin\" from [\"sin\"]", "", "%x: f32[4]"};
  EXPECT_TRUE(findings_of(test, test.sick).empty());
  EXPECT_TRUE(fires(findings_of(test, test.sick, {.assume = ElementType::kFloat16}), "B11-large-argument"));
}

TEST(Check, RanksErrorsFirst) {
  const Case test{"",
                  "const %s = f32[] hex\"00000000\" %d: f32[4] = Exp(%x) version 17 @\"dead\" from "
                  "[\"dead\"]\n %y: u8[4] = QuantizeLinear(%x, %s) version 17 @\"q\" from [\"q\"]",
                  "", "%x: f32[4]"};
  const auto findings = findings_of(test, test.sick);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].rule, "B23-invalid-scale");
  EXPECT_EQ(findings[0].node, "q");
}

TEST(ImportNotes, AreOneFindingForEachRule) {
  const auto findings = check(parse_model(R"(model ir=8 opset "" 14 { graph "g" (%x: f32[2]) -> (%y) {
    %y: f32[2] = Relu(%x) version 14 @"r" from ["r"]
  } })"),
                              {{"S5-dimension-names", "", "first", "name them"},
                               {"S6-domain-not-imported", "r", "other", "import it"},
                               {"S5-dimension-names", "", "second", "name them"}});
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].rule, "S5-dimension-names");
  EXPECT_EQ(findings[0].message, "first");
  EXPECT_EQ(findings[0].count, 2U);
  EXPECT_EQ(findings[1].node, "r");
  EXPECT_EQ(findings[1].count, 1U);
}

}  // namespace
}  // namespace vernier

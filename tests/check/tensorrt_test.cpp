// Every rule for TensorRT has a smallest model that breaks it, and a twin that keeps all of them.
#include "vernier/check/tensorrt.h"

#include <gtest/gtest.h>

#include "vernier/ir/text.h"

namespace vernier {
namespace {

struct Case {
  const char* rule;
  const char* broken;
  const char* kept;
  const char* inputs = "%x: f32[1, 2, 4, 4]";
  int64_t opset = 17, kept_opset = 17;
  const char* kept_inputs = nullptr;  // null: the same
};

#define QDQ(type, scale, zero, attributes)                                                          \
  "const %s = f32" scale " const %z = " type zero " %q: " type                                      \
  "[1, 2, 4, 4] = QuantizeLinear(%x, %s, %z)" attributes                                            \
  " version 17 @\"q\" from [\"q\"]\n %y: f32[1, 2, 4, 4] = DequantizeLinear(%q, %s, %z)" attributes \
  " version 17 @\"d\" from [\"d\"]"

// A convolution whose weights have one scale for each of two channels, along `axis`.
#define CONV(axis)                                                                                       \
  "const %s = f32[] hex\"0000803d\" const %w = i8[2, 2, 1, 1] hex\"01020304\" const %c = f32[2] "        \
  "hex\"0000803d0000803d\" const %z = i8[] hex\"00\"\n %q: i8[1, 2, 4, 4] = QuantizeLinear(%x, %s, %z) " \
  "version 17 @\"q\" from "                                                                              \
  "[\"q\"]\n %a: f32[1, 2, 4, 4] = DequantizeLinear(%q, %s, %z) version 17 @\"d\" "                      \
  "from [\"d\"]\n %b: f32[2, 2, 1, 1] = DequantizeLinear(%w, %c) {axis = " axis                          \
  "} version 17 @\"dw\" from [\"dw\"]\n %y: f32[1, 2, 4, 4] = Conv(%a, %b) version 17 @\"conv\" from "   \
  "[\"conv\"]"

const char* const kRelu = "%y: f32[1, 2, 4, 4] = Relu(%x) version 17 @\"r\" from [\"r\"]";

const Case kCases[] = {
    {"TRT1-zero-point", QDQ("i8", "[] hex\"0000803d\"", "[] hex\"03\"", ""),
     QDQ("i8", "[] hex\"0000803d\"", "[] hex\"00\"", "")},
    {"TRT2-code-type", QDQ("u8", "[] hex\"0000803d\"", "[] hex\"00\"", ""),
     QDQ("i8", "[] hex\"0000803d\"", "[] hex\"00\"", "")},
    {"TRT3-scale",
     "const %z = i8[] hex\"00\" %q: i8[1, 2, 4, 4] = QuantizeLinear(%x, %scale, %z) version 17 @\"q\" from "
     "[\"q\"]\n %y: f32[1, 2, 4, 4] = DequantizeLinear(%q, %scale, %z) version 17 @\"d\" from [\"d\"]",
     QDQ("i8", "[] hex\"0000803d\"", "[] hex\"00\"", ""), "%x: f32[1, 2, 4, 4], %scale: f32[]"},
    {"TRT4-activation-scales", QDQ("i8", "[2] hex\"0000803d0000803d\"", "[2] hex\"0000\"", " {axis = 1}"),
     QDQ("i8", "[] hex\"0000803d\"", "[] hex\"00\"", " {axis = 1}")},
    {"TRT5-channel-axis", CONV("1"), CONV("0")},
    {"TRT6-unpaired",
     "const %s = f32[] hex\"0000803d\" const %z = i8[] hex\"00\" %q: i8[1, 2, 4, 4] = QuantizeLinear(%x, %s, "
     "%z) version 17 @\"q\" from [\"q\"]\n %r: i8[1, 2, 4, 4] = Relu(%q) version 17 @\"r\" from [\"r\"]\n "
     "%y: "
     "f32[1, 2, 4, 4] = DequantizeLinear(%r, %s, %z) version 17 @\"d\" from [\"d\"]",
     "const %s = f32[] hex\"0000803d\" const %z = i8[] hex\"00\" %q: i8[1, 2, 4, 4] = QuantizeLinear(%x, %s, "
     "%z) version 17 @\"q\" from [\"q\"]\n %r: i8[1, 4, 4, 2] = Transpose(%q) {perm = ints[0, 2, 3, 1]} "
     "version 17 @\"r\" from [\"r\"]\n %y: f32[1, 4, 4, 2] = DequantizeLinear(%r, %s, %z) version 17 @\"d\" "
     "from [\"d\"]"},
    {"TRT7-one-operand",
     "const %w = f32[2, 2, 1, 1] hex\"cdcccc3dcdcc4c3e9a9999be9a99193e\" const %s = f32[] hex\"0000803d\" "
     "const %z = i8[] hex\"00\" %q: i8[1, 2, 4, 4] = QuantizeLinear(%x, %s, %z) version 17 @\"q\" from "
     "[\"q\"]\n %d: f32[1, 2, 4, 4] = DequantizeLinear(%q, %s, %z) version 17 @\"d\" from [\"d\"]\n %y: "
     "f32[1, "
     "2, 4, 4] = Conv(%d, %w) version 17 @\"c\" from [\"c\"]",
     CONV("0")},
    {"TRT8-type", "%y: u32[1, 2, 4, 4] = Cast(%x) {to = 12} version 17 @\"c\" from [\"c\"]",
     "%y: i32[1, 2, 4, 4] = Cast(%x) {to = 6} version 17 @\"c\" from [\"c\"]"},
    {"TRT9-double", "%y: f64[1, 2, 4, 4] = Cast(%x) {to = 11} version 17 @\"c\" from [\"c\"]",
     "%y: f16[1, 2, 4, 4] = Cast(%x) {to = 10} version 17 @\"c\" from [\"c\"]"},
    {"TRT10-bytes", "%y: u8[4, 2] = Transpose(%b) {perm = ints[1, 0]} version 17 @\"t\" from [\"t\"]",
     "%f: f32[2, 4] = Cast(%b) {to = 1} version 17 @\"c\" from [\"c\"]\n %y: f32[4, 2] = Transpose(%f) {perm "
     "= ints[1, 0]} version 17 @\"t\" from [\"t\"]",
     "%b: u8[2, 4]"},
    {"TRT11-int64", "%y: i64[4] = Neg(%n) version 17 @\"n\" from [\"n\"]",
     "%y: i32[4] = Neg(%n) version 17 @\"n\" from [\"n\"]", "%n: i64[4]", 17, 17, "%n: i32[4]"},
    {"TRT12-mixed-types",
     "const %e = f16[] hex\"0040\" %y: f32[1, 2, 4, 4] = Pow(%x, %e) version 17 @\"p\" from [\"p\"]",
     "const %e = f32[] hex\"00000040\" %y: f32[1, 2, 4, 4] = Pow(%x, %e) version 17 @\"p\" from [\"p\"]"},
    {"TRT13-opset", kRelu, kRelu, "%x: f32[1, 2, 4, 4]", 27, 25},
    {"TRT14-operator", "%y: f32[1, 2] = Det(%x) version 17 @\"d\" from [\"d\"]", kRelu},
    {"TRT15-limit",
     "%y: f32[1, 2, 2, 2] = AveragePool(%x) {kernel_shape = ints[2, 2], dilations = ints[2, 2]} version 19 "
     "@\"p\" from [\"p\"]",
     "%y: f32[1, 2, 3, 3] = AveragePool(%x) {kernel_shape = ints[2, 2]} version 19 @\"p\" from [\"p\"]",
     "%x: f32[1, 2, 4, 4]", 19, 19},
    {"TRT16-float-sizes",
     "%n: i64[1] = Cast(%k) {to = 7} version 17 @\"c\" from [\"c\"]\n %y: f32[m] = Tile(%x, %n) version 17 "
     "@\"t\" from [\"t\"]",
     "%n: i64[1] = Identity(%k) version 17 @\"c\" from [\"c\"]\n %y: f32[m] = Tile(%x, %n) version 17 "
     "@\"t\" from [\"t\"]",
     "%x: f32[4], %k: f32[1]", 17, 17, "%x: f32[4], %k: i64[1]"},
};

std::vector<Finding> findings_of(const char* inputs, const char* body, int64_t opset) {
  return check_for_tensorrt(parse_model(
      fmt::format("model ir=8 opset \"\" {} {{ graph \"g\" ({}) -> (%y) {{\n{} }} }}", opset, inputs, body)));
}

bool fires(const std::vector<Finding>& findings, const std::string& rule) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.rule == rule && !finding.message.empty() && !finding.remedy.empty();
  });
}

class TensorrtRule : public testing::TestWithParam<Case> {};

TEST_P(TensorrtRule, IsBrokenAndKept) {
  const Case& test = GetParam();
  const char* kept_inputs = test.kept_inputs == nullptr ? test.inputs : test.kept_inputs;
  EXPECT_TRUE(fires(findings_of(test.inputs, test.broken, test.opset), test.rule));
  EXPECT_FALSE(fires(findings_of(kept_inputs, test.kept, test.kept_opset), test.rule));
}

INSTANTIATE_TEST_SUITE_P(All, TensorrtRule, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.rule;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

TEST(Tensorrt, EveryRuleHasACase) {
  for (const Rule& rule : tensorrt_rules()) {
    EXPECT_TRUE(std::any_of(std::begin(kCases), std::end(kCases), [&](const Case& test) {
      return std::string(test.rule) == rule.id;
    })) << rule.id;
  }
}

// Its parser reads opset 7 without a word, and warns below; no number is refused.
TEST(Tensorrt, OldOpsetsAreNoErrors) {
  for (const auto& [opset, severity] :
       {std::pair(int64_t{6}, Severity::kWarning), std::pair(int64_t{7}, Severity::kNote)}) {
    const auto findings = findings_of("%x: f32[1, 2, 4, 4]", kRelu, opset);
    ASSERT_EQ(findings.size(), 1) << opset;
    EXPECT_EQ(findings[0].severity, severity);
  }
}

// Its builder has no implementation of it.
TEST(Tensorrt, ConvTransposeOfBrainFloatsIsRefused) {
  const char* body =
      "const %w = bf16[1, 1, 1, 1] hex\"803f\" %y: bf16[1, 1, 4, 4] = ConvTranspose(%x, %w) version 22 "
      "@\"c\" "
      "from [\"c\"]";
  EXPECT_TRUE(fires(findings_of("%x: bf16[1, 1, 4, 4]", body, 22), "TRT15-limit"));
}

TEST(Tensorrt, SymmetricPairsAndChannelScalesKeepAllRules) {
  EXPECT_TRUE(findings_of("%x: f32[1, 2, 4, 4]", CONV("0"), 17).empty());
}

}  // namespace
}  // namespace vernier

// group-quantised-attention: what it takes, and what it must leave.
#include "passes/rewriting.h"

namespace vernier {
namespace {

struct Case {
  std::string q = "f32[1, 6, 2, 8]", k = "f32[1, 7, 2, 8]", v = "f32[1, 7, 2, 5]", mask = "f32[1, 1, 6, 7]";
  // From the dequantised scores %ds to the quantised weights %qw.
  std::string between = R"(%m: f32[*] = Softmax(%ds) {axis = -1} version 13 @"m" from ["m"]
    %qw: u8[*] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"])";
  std::string k_order = "0, 2, 3, 1", y_order = "0, 2, 1, 3", outputs = "%y";
};

constexpr const char* kMasked = R"(%a: f32[*] = Add(%ds, %mask) version 14 @"a" from ["a"]
    %qa: u8[*] = QuantizeLinear(%a, %scale, %zero) version 21 @"qa" from ["qa"]
    %da: f32[*] = DequantizeLinear(%qa, %scale, %zero) version 21 @"da" from ["da"]
    %m: f32[*] = Softmax(%da) {axis = -1} version 13 @"m" from ["m"]
    %qm: u8[*] = QuantizeLinear(%m, %m_scale, %w_zero) version 21 @"qm" from ["qm"]
    %dm: f32[*] = DequantizeLinear(%qm, %m_scale, %w_zero) version 21 @"dm" from ["dm"]
    %n: bool[*] = IsNaN(%dm) version 20 @"n" from ["n"]
    %g: f32[*] = Where(%n, %none, %dm) version 16 @"g" from ["g"]
    %qw: u8[*] = QuantizeLinear(%g, %w_scale, %w_zero) version 21 @"qw" from ["qw"])";

Model model_of(const Case& with) {
  return parse_graph(fmt::format(R"(graph "g" (%q: {}, %k: {}, %v: {}, %mask: {}) -> ({}) {{)", with.q,
                                 with.k, with.v, with.mask, with.outputs) +
                     R"(
    const %scale = f32[] hex"0000003d"
    const %zero = u8[] hex"80"
    const %half = f32[] hex"0000003f"
    const %none = f32[] hex"00000000"
    const %m_scale = f32[] hex"8180803b"
    const %w_scale = f32[] hex"0000803b"
    const %w_zero = u8[] hex"00"
    %bq: u8[*] = QuantizeLinear(%q, %scale, %zero) version 21 @"bq" from ["bq"]
    %bk: u8[*] = QuantizeLinear(%k, %scale, %zero) version 21 @"bk" from ["bk"]
    %bv: u8[*] = QuantizeLinear(%v, %scale, %zero) version 21 @"bv" from ["bv"]
    %tq: u8[*] = Transpose(%bq) {perm = ints[0, 2, 1, 3]} version 21 @"tq" from ["tq"]
    %tk: u8[*] = Transpose(%bk) {perm = ints[)" +
                     with.k_order + R"(]} version 21 @"tk" from ["tk"]
    %tv: u8[*] = Transpose(%bv) {perm = ints[0, 2, 1, 3]} version 21 @"tv" from ["tv"]
    %fq: f32[*] = DequantizeLinear(%tq, %scale, %zero) version 21 @"fq" from ["fq"]
    %hq: f32[*] = Mul(%fq, %half) version 14 @"hq" from ["hq"]
    %sq: u8[*] = QuantizeLinear(%hq, %scale, %zero) version 21 @"sq" from ["sq"]
    %dq: f32[*] = DequantizeLinear(%sq, %scale, %zero) version 21 @"dq" from ["dq"]
    %dk: f32[*] = DequantizeLinear(%tk, %scale, %zero) version 21 @"dk" from ["dk"]
    %s: f32[*] = MatMul(%dq, %dk) version 13 @"s" from ["s"]
    %qs: u8[*] = QuantizeLinear(%s, %scale, %zero) version 21 @"qs" from ["qs"]
    %ds: f32[*] = DequantizeLinear(%qs, %scale, %zero) version 21 @"ds" from ["ds"]
    )" + with.between +
                     R"(
    %dw: f32[*] = DequantizeLinear(%qw, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
    %dv: f32[*] = DequantizeLinear(%tv, %scale, %zero) version 21 @"dv" from ["dv"]
    %p: f32[*] = MatMul(%dw, %dv) version 13 @"p" from ["p"]
    %qp: u8[*] = QuantizeLinear(%p, %scale, %zero) version 21 @"qp" from ["qp"]
    %y: u8[*] = Transpose(%qp) {perm = ints[)" +
                     with.y_order + R"(]} version 21 @"y" from ["y"]
  })");
}

// The operators behind the three that quantise queries, keys and values.
std::string grouped(const Case& with) {
  const Model before = model_of(with);
  Model after = model_of(with);
  rewrite(after, {split_dequantize(), absorb_qdq(), merge_common_nodes(), group_quantised_attention()});
  EXPECT_EQ(distance(before, after), 0);  // a group means what its nodes mean
  const std::string all = operators(*after.graph), first = "QuantizeLinear QuantizeLinear QuantizeLinear ";
  EXPECT_TRUE(all.starts_with(first)) << all;
  return all.substr(std::min(all.size(), first.size()));
}

const std::string kProduct = "qmatmul(DequantizeLinear DequantizeLinear MatMul QuantizeLinear)";
const std::string kHeads = "Transpose Transpose Transpose DequantizeLinear Mul QuantizeLinear ";
const std::string kSoftmax = "DequantizeLinear Softmax QuantizeLinear ";

TEST(QuantisedAttention, FromTransposeToTranspose) {
  EXPECT_EQ(grouped({}), "qattention(" + kHeads + kProduct + " " + kSoftmax + kProduct + " Transpose)");
}

TEST(QuantisedAttention, WithAMaskAndAGuard) {
  EXPECT_EQ(grouped({.between = kMasked}),
            "qattention(" + kHeads + kProduct + " DequantizeLinear Add QuantizeLinear " + kSoftmax +
                "DequantizeLinear IsNaN Where QuantizeLinear " + kProduct + " Transpose)");
}

TEST(QuantisedAttention, ATransposeOfColumnsStaysOutside) {
  EXPECT_EQ(grouped({.y_order = "0, 1, 3, 2"}),
            "qattention(" + kHeads + kProduct + " " + kSoftmax + kProduct + ") Transpose");
}

TEST(QuantisedAttention, WhatOthersReadIsLeft) {
  const std::string left = kHeads + kProduct + " " + kSoftmax + kProduct + " Transpose";
  EXPECT_EQ(grouped({.outputs = "%y, %qw"}), left);
  EXPECT_EQ(grouped({.outputs = "%y, %tq"}), left);
  EXPECT_EQ(grouped({.outputs = "%y, %qp"}),
            "qattention(" + kHeads + kProduct + " " + kSoftmax + kProduct + ") Transpose");
}

TEST(QuantisedAttention, OtherSizesAreLeft) {
  const std::string left = kHeads + kProduct + " " + kSoftmax + kProduct + " Transpose";
  EXPECT_EQ(grouped({.q = "f32[1, 6, 2, 6]", .k = "f32[1, 7, 2, 6]"}), left);   // not in fours
  EXPECT_EQ(grouped({.k = "f32[1, 7, 1, 8]"}), left);                           // keys for all heads
  EXPECT_EQ(grouped({.k = "f32[1, 8, 2, 7]", .k_order = "0, 2, 1, 3"}), left);  // keys lie beside each other
}

TEST(QuantisedAttention, OtherOperatorsBetweenAreLeft) {
  const std::string first = R"(%m: f32[*] = Softmax(%ds) {axis = 2} version 13 @"m" from ["m"]
    %qw: u8[*] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"])";
  EXPECT_EQ(grouped({.between = first}), kHeads + kProduct + " " + kSoftmax + kProduct + " Transpose");
  const std::string sum = R"(%a: f32[*] = Add(%ds, %mask) version 14 @"a" from ["a"]
    %m: f32[*] = Softmax(%a) {axis = -1} version 13 @"m" from ["m"]
    %qw: u8[*] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"])";  // of floats
  EXPECT_EQ(grouped({.between = sum}),
            kHeads + kProduct + " DequantizeLinear Add Softmax QuantizeLinear " + kProduct + " Transpose");
  EXPECT_EQ(grouped({.mask = "f32[2, 1, 6, 7]", .between = kMasked}),  // more scores than products
            kHeads + kProduct + " DequantizeLinear Add QuantizeLinear " + kSoftmax +
                "DequantizeLinear IsNaN Where QuantizeLinear " + kProduct + " Transpose");
}

}  // namespace
}  // namespace vernier

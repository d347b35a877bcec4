// group-quantized-attention: what it takes, and what it must leave.
#include "passes/expect_pass.h"

namespace vernier {
namespace {

struct Case {
  std::string q = "f32[1, 6, 2, 8]", k = "f32[1, 7, 2, 8]", v = "f32[1, 7, 2, 5]", mask = "f32[1, 1, 6, 7]";
  // From the dequantized scores %ds to the quantized weights %qw.
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

const PassCase kGroup{group_quantized_attention(), {split_dequantize(), fuse_qdq(), merge_common_nodes()}};

TEST(QuantizedAttention, FromTransposeToTranspose) {
  expect_pass(
      kGroup, model_of({}),
      R"(graph "g" (%q: f32[1, 6, 2, 8], %k: f32[1, 7, 2, 8], %v: f32[1, 7, 2, 5], %mask: f32[1, 1, 6, 7]) -> (%y) {
      const %scale = f32[] hex"0000003d"
      const %zero = u8[] hex"80"
      const %half = f32[] hex"0000003f"
      const %w_scale = f32[] hex"0000803b"
      const %w_zero = u8[] hex"00"
      %bq: u8[1, 6, 2, 8] = QuantizeLinear(%q, %scale, %zero) version 21 @"bq" from ["bq"]
      %bk: u8[1, 7, 2, 8] = QuantizeLinear(%k, %scale, %zero) version 21 @"bk" from ["bk"]
      %bv: u8[1, 7, 2, 5] = QuantizeLinear(%v, %scale, %zero) version 21 @"bv" from ["bv"]
      %y: u8[1, 6, 2, 5] = vernier::Group(%bq, %bk, %bv, %scale, %zero, %half, %w_scale, %w_zero) {kind = "qattention"} version 1 @"y" from ["dk", "dq", "ds", "dv", "dw", "fq", "hq", "m", "p", "qp", "qs", "qw", "s", "sq", "tk", "tq", "tv", "y"] regions {
        body =
        graph "qattention" (%bq: u8[1, 6, 2, 8], %bk: u8[1, 7, 2, 8], %bv: u8[1, 7, 2, 5], %scale: f32[], %zero: u8[], %half: f32[], %w_scale: f32[], %w_zero: u8[]) -> (%y) {
          %tq: u8[1, 2, 6, 8] = Transpose(%bq) {perm = ints[0, 2, 1, 3]} version 21 @"tq" from ["tq"]
          %tk: u8[1, 2, 8, 7] = Transpose(%bk) {perm = ints[0, 2, 3, 1]} version 21 @"tk" from ["tk"]
          %tv: u8[1, 2, 7, 5] = Transpose(%bv) {perm = ints[0, 2, 1, 3]} version 21 @"tv" from ["tv"]
          %fq: f32[1, 2, 6, 8] = DequantizeLinear(%tq, %scale, %zero) version 21 @"fq" from ["fq"]
          %hq: f32[1, 2, 6, 8] = Mul(%fq, %half) version 14 @"hq" from ["hq"]
          %sq: u8[1, 2, 6, 8] = QuantizeLinear(%hq, %scale, %zero) version 21 @"sq" from ["sq"]
          %qs: u8[1, 2, 6, 7] = vernier::Group(%sq, %scale, %zero, %tk) {kind = "qmatmul"} version 1 @"qs" from ["dk", "dq", "qs", "s"] regions {
            body =
            graph "qmatmul" (%sq: u8[1, 2, 6, 8], %scale: f32[], %zero: u8[], %tk: u8[1, 2, 8, 7]) -> (%qs) {
              %dq: f32[1, 2, 6, 8] = DequantizeLinear(%sq, %scale, %zero) version 21 @"dq" from ["dq"]
              %dk: f32[1, 2, 8, 7] = DequantizeLinear(%tk, %scale, %zero) version 21 @"dk" from ["dk"]
              %s: f32[1, 2, 6, 7] = MatMul(%dq, %dk) version 13 @"s" from ["s"]
              %qs: u8[1, 2, 6, 7] = QuantizeLinear(%s, %scale, %zero) version 21 @"qs" from ["qs"]
            }
          }
          %ds: f32[1, 2, 6, 7] = DequantizeLinear(%qs, %scale, %zero) version 21 @"ds" from ["ds"]
          %m: f32[1, 2, 6, 7] = Softmax(%ds) {axis = -1} version 13 @"m" from ["m"]
          %qw: u8[1, 2, 6, 7] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"]
          %qp: u8[1, 2, 6, 5] = vernier::Group(%qw, %w_scale, %w_zero, %tv, %scale, %zero) {kind = "qmatmul"} version 1 @"qp" from ["dv", "dw", "p", "qp"] regions {
            body =
            graph "qmatmul" (%qw: u8[1, 2, 6, 7], %w_scale: f32[], %w_zero: u8[], %tv: u8[1, 2, 7, 5], %scale: f32[], %zero: u8[]) -> (%qp) {
              %dw: f32[1, 2, 6, 7] = DequantizeLinear(%qw, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
              %dv: f32[1, 2, 7, 5] = DequantizeLinear(%tv, %scale, %zero) version 21 @"dv" from ["dv"]
              %p: f32[1, 2, 6, 5] = MatMul(%dw, %dv) version 13 @"p" from ["p"]
              %qp: u8[1, 2, 6, 5] = QuantizeLinear(%p, %scale, %zero) version 21 @"qp" from ["qp"]
            }
          }
          %y: u8[1, 6, 2, 5] = Transpose(%qp) {perm = ints[0, 2, 1, 3]} version 21 @"y" from ["y"]
        }
      }
  })");
}

TEST(QuantizedAttention, WithAMaskAndAGuard) {
  expect_pass(
      kGroup, model_of({.between = kMasked}),
      R"(graph "g" (%q: f32[1, 6, 2, 8], %k: f32[1, 7, 2, 8], %v: f32[1, 7, 2, 5], %mask: f32[1, 1, 6, 7]) -> (%y) {
      const %scale = f32[] hex"0000003d"
      const %zero = u8[] hex"80"
      const %half = f32[] hex"0000003f"
      const %none = f32[] hex"00000000"
      const %m_scale = f32[] hex"8180803b"
      const %w_scale = f32[] hex"0000803b"
      const %w_zero = u8[] hex"00"
      %bq: u8[1, 6, 2, 8] = QuantizeLinear(%q, %scale, %zero) version 21 @"bq" from ["bq"]
      %bk: u8[1, 7, 2, 8] = QuantizeLinear(%k, %scale, %zero) version 21 @"bk" from ["bk"]
      %bv: u8[1, 7, 2, 5] = QuantizeLinear(%v, %scale, %zero) version 21 @"bv" from ["bv"]
      %y: u8[1, 6, 2, 5] = vernier::Group(%bq, %bk, %bv, %scale, %zero, %half, %mask, %m_scale, %w_zero, %none, %w_scale) {kind = "qattention"} version 1 @"y" from ["a", "da", "dk", "dm", "dq", "ds", "dv", "dw", "fq", "g", "hq", "m", "n", "p", "qa", "qm", "qp", "qs", "qw", "s", "sq", "tk", "tq", "tv", "y"] regions {
        body =
        graph "qattention" (%bq: u8[1, 6, 2, 8], %bk: u8[1, 7, 2, 8], %bv: u8[1, 7, 2, 5], %scale: f32[], %zero: u8[], %half: f32[], %mask: f32[1, 1, 6, 7], %m_scale: f32[], %w_zero: u8[], %none: f32[], %w_scale: f32[]) -> (%y) {
          %tq: u8[1, 2, 6, 8] = Transpose(%bq) {perm = ints[0, 2, 1, 3]} version 21 @"tq" from ["tq"]
          %tk: u8[1, 2, 8, 7] = Transpose(%bk) {perm = ints[0, 2, 3, 1]} version 21 @"tk" from ["tk"]
          %tv: u8[1, 2, 7, 5] = Transpose(%bv) {perm = ints[0, 2, 1, 3]} version 21 @"tv" from ["tv"]
          %fq: f32[1, 2, 6, 8] = DequantizeLinear(%tq, %scale, %zero) version 21 @"fq" from ["fq"]
          %hq: f32[1, 2, 6, 8] = Mul(%fq, %half) version 14 @"hq" from ["hq"]
          %sq: u8[1, 2, 6, 8] = QuantizeLinear(%hq, %scale, %zero) version 21 @"sq" from ["sq"]
          %qs: u8[1, 2, 6, 7] = vernier::Group(%sq, %scale, %zero, %tk) {kind = "qmatmul"} version 1 @"qs" from ["dk", "dq", "qs", "s"] regions {
            body =
            graph "qmatmul" (%sq: u8[1, 2, 6, 8], %scale: f32[], %zero: u8[], %tk: u8[1, 2, 8, 7]) -> (%qs) {
              %dq: f32[1, 2, 6, 8] = DequantizeLinear(%sq, %scale, %zero) version 21 @"dq" from ["dq"]
              %dk: f32[1, 2, 8, 7] = DequantizeLinear(%tk, %scale, %zero) version 21 @"dk" from ["dk"]
              %s: f32[1, 2, 6, 7] = MatMul(%dq, %dk) version 13 @"s" from ["s"]
              %qs: u8[1, 2, 6, 7] = QuantizeLinear(%s, %scale, %zero) version 21 @"qs" from ["qs"]
            }
          }
          %ds: f32[1, 2, 6, 7] = DequantizeLinear(%qs, %scale, %zero) version 21 @"ds" from ["ds"]
          %a: f32[1, 2, 6, 7] = Add(%ds, %mask) version 14 @"a" from ["a"]
          %qa: u8[1, 2, 6, 7] = QuantizeLinear(%a, %scale, %zero) version 21 @"qa" from ["qa"]
          %da: f32[1, 2, 6, 7] = DequantizeLinear(%qa, %scale, %zero) version 21 @"da" from ["da"]
          %m: f32[1, 2, 6, 7] = Softmax(%da) {axis = -1} version 13 @"m" from ["m"]
          %qm: u8[1, 2, 6, 7] = QuantizeLinear(%m, %m_scale, %w_zero) version 21 @"qm" from ["qm"]
          %dm: f32[1, 2, 6, 7] = DequantizeLinear(%qm, %m_scale, %w_zero) version 21 @"dm" from ["dm"]
          %n: bool[1, 2, 6, 7] = IsNaN(%dm) version 20 @"n" from ["n"]
          %g: f32[1, 2, 6, 7] = Where(%n, %none, %dm) version 16 @"g" from ["g"]
          %qw: u8[1, 2, 6, 7] = QuantizeLinear(%g, %w_scale, %w_zero) version 21 @"qw" from ["qw"]
          %qp: u8[1, 2, 6, 5] = vernier::Group(%qw, %w_scale, %w_zero, %tv, %scale, %zero) {kind = "qmatmul"} version 1 @"qp" from ["dv", "dw", "p", "qp"] regions {
            body =
            graph "qmatmul" (%qw: u8[1, 2, 6, 7], %w_scale: f32[], %w_zero: u8[], %tv: u8[1, 2, 7, 5], %scale: f32[], %zero: u8[]) -> (%qp) {
              %dw: f32[1, 2, 6, 7] = DequantizeLinear(%qw, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
              %dv: f32[1, 2, 7, 5] = DequantizeLinear(%tv, %scale, %zero) version 21 @"dv" from ["dv"]
              %p: f32[1, 2, 6, 5] = MatMul(%dw, %dv) version 13 @"p" from ["p"]
              %qp: u8[1, 2, 6, 5] = QuantizeLinear(%p, %scale, %zero) version 21 @"qp" from ["qp"]
            }
          }
          %y: u8[1, 6, 2, 5] = Transpose(%qp) {perm = ints[0, 2, 1, 3]} version 21 @"y" from ["y"]
        }
      }
  })");
}

// The graph with a group that ends before the Transpose of what it yields.
std::string ended_before_transpose(const std::string& outputs, const std::string& y) {
  return R"(graph "g" (%q: f32[1, 6, 2, 8], %k: f32[1, 7, 2, 8], %v: f32[1, 7, 2, 5], %mask: f32[1, 1, 6, 7]) -> ()" +
         outputs + R"() {
      const %scale = f32[] hex"0000003d"
      const %zero = u8[] hex"80"
      const %half = f32[] hex"0000003f"
      const %w_scale = f32[] hex"0000803b"
      const %w_zero = u8[] hex"00"
      %bq: u8[1, 6, 2, 8] = QuantizeLinear(%q, %scale, %zero) version 21 @"bq" from ["bq"]
      %bk: u8[1, 7, 2, 8] = QuantizeLinear(%k, %scale, %zero) version 21 @"bk" from ["bk"]
      %bv: u8[1, 7, 2, 5] = QuantizeLinear(%v, %scale, %zero) version 21 @"bv" from ["bv"]
      %qp: u8[1, 2, 6, 5] = vernier::Group(%bq, %bk, %bv, %scale, %zero, %half, %w_scale, %w_zero) {kind = "qattention"} version 1 @"qp" from ["dk", "dq", "ds", "dv", "dw", "fq", "hq", "m", "p", "qp", "qs", "qw", "s", "sq", "tk", "tq", "tv"] regions {
        body =
        graph "qattention" (%bq: u8[1, 6, 2, 8], %bk: u8[1, 7, 2, 8], %bv: u8[1, 7, 2, 5], %scale: f32[], %zero: u8[], %half: f32[], %w_scale: f32[], %w_zero: u8[]) -> (%qp) {
          %tq: u8[1, 2, 6, 8] = Transpose(%bq) {perm = ints[0, 2, 1, 3]} version 21 @"tq" from ["tq"]
          %tk: u8[1, 2, 8, 7] = Transpose(%bk) {perm = ints[0, 2, 3, 1]} version 21 @"tk" from ["tk"]
          %tv: u8[1, 2, 7, 5] = Transpose(%bv) {perm = ints[0, 2, 1, 3]} version 21 @"tv" from ["tv"]
          %fq: f32[1, 2, 6, 8] = DequantizeLinear(%tq, %scale, %zero) version 21 @"fq" from ["fq"]
          %hq: f32[1, 2, 6, 8] = Mul(%fq, %half) version 14 @"hq" from ["hq"]
          %sq: u8[1, 2, 6, 8] = QuantizeLinear(%hq, %scale, %zero) version 21 @"sq" from ["sq"]
          %qs: u8[1, 2, 6, 7] = vernier::Group(%sq, %scale, %zero, %tk) {kind = "qmatmul"} version 1 @"qs" from ["dk", "dq", "qs", "s"] regions {
            body =
            graph "qmatmul" (%sq: u8[1, 2, 6, 8], %scale: f32[], %zero: u8[], %tk: u8[1, 2, 8, 7]) -> (%qs) {
              %dq: f32[1, 2, 6, 8] = DequantizeLinear(%sq, %scale, %zero) version 21 @"dq" from ["dq"]
              %dk: f32[1, 2, 8, 7] = DequantizeLinear(%tk, %scale, %zero) version 21 @"dk" from ["dk"]
              %s: f32[1, 2, 6, 7] = MatMul(%dq, %dk) version 13 @"s" from ["s"]
              %qs: u8[1, 2, 6, 7] = QuantizeLinear(%s, %scale, %zero) version 21 @"qs" from ["qs"]
            }
          }
          %ds: f32[1, 2, 6, 7] = DequantizeLinear(%qs, %scale, %zero) version 21 @"ds" from ["ds"]
          %m: f32[1, 2, 6, 7] = Softmax(%ds) {axis = -1} version 13 @"m" from ["m"]
          %qw: u8[1, 2, 6, 7] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"]
          %qp: u8[1, 2, 6, 5] = vernier::Group(%qw, %w_scale, %w_zero, %tv, %scale, %zero) {kind = "qmatmul"} version 1 @"qp" from ["dv", "dw", "p", "qp"] regions {
            body =
            graph "qmatmul" (%qw: u8[1, 2, 6, 7], %w_scale: f32[], %w_zero: u8[], %tv: u8[1, 2, 7, 5], %scale: f32[], %zero: u8[]) -> (%qp) {
              %dw: f32[1, 2, 6, 7] = DequantizeLinear(%qw, %w_scale, %w_zero) version 21 @"dw" from ["dw"]
              %dv: f32[1, 2, 7, 5] = DequantizeLinear(%tv, %scale, %zero) version 21 @"dv" from ["dv"]
              %p: f32[1, 2, 6, 5] = MatMul(%dw, %dv) version 13 @"p" from ["p"]
              %qp: u8[1, 2, 6, 5] = QuantizeLinear(%p, %scale, %zero) version 21 @"qp" from ["qp"]
            }
          }
        }
      }
      %y: )" +
         y + R"( version 21 @"y" from ["y"]
  })";
}

TEST(QuantizedAttention, ATransposeOfColumnsStaysOutside) {
  expect_pass(kGroup, model_of({.y_order = "0, 1, 3, 2"}),
              ended_before_transpose("%y", "u8[1, 2, 5, 6] = Transpose(%qp) {perm = ints[0, 1, 3, 2]}"));
}

TEST(QuantizedAttention, WhatOthersReadIsLeft) {
  expect_unchanged(kGroup, model_of({.outputs = "%y, %qw"}));
  expect_unchanged(kGroup, model_of({.outputs = "%y, %tq"}));
  expect_pass(kGroup, model_of({.outputs = "%y, %qp"}),
              ended_before_transpose("%y, %qp", "u8[1, 6, 2, 5] = Transpose(%qp) {perm = ints[0, 2, 1, 3]}"));
}

TEST(QuantizedAttention, OtherSizesAreLeft) {
  expect_unchanged(kGroup, model_of({.q = "f32[1, 6, 2, 6]", .k = "f32[1, 7, 2, 6]"}));  // not in fours
  expect_unchanged(kGroup, model_of({.k = "f32[1, 7, 1, 8]"}));                          // keys for all heads
  expect_unchanged(
      kGroup, model_of({.k = "f32[1, 8, 2, 7]", .k_order = "0, 2, 1, 3"}));  // keys lie beside each other
}

TEST(QuantizedAttention, OtherOperatorsBetweenAreLeft) {
  const std::string first = R"(%m: f32[*] = Softmax(%ds) {axis = 2} version 13 @"m" from ["m"]
    %qw: u8[*] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"])";
  expect_unchanged(kGroup, model_of({.between = first}));
  const std::string sum = R"(%a: f32[*] = Add(%ds, %mask) version 14 @"a" from ["a"]
    %m: f32[*] = Softmax(%a) {axis = -1} version 13 @"m" from ["m"]
    %qw: u8[*] = QuantizeLinear(%m, %w_scale, %w_zero) version 21 @"qw" from ["qw"])";  // of floats
  expect_unchanged(kGroup, model_of({.between = sum}));
  expect_unchanged(kGroup,
                   model_of({.mask = "f32[2, 1, 6, 7]", .between = kMasked}));  // more scores than products
}

}  // namespace
}  // namespace vernier

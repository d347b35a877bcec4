// Attention against the reference: layouts, grouped heads, masks, pasts, windows; by every tactic.
#include "cpu/one_kernel.h"
#include "vernier/backends/cpu/attention/block_attention.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_block.h"

namespace vernier::cpu {
namespace {

using ops::OneNode;
constexpr ElementType kF32 = ElementType::kFloat;

// Scores reach 30 here, and an error of theirs is one of the weights.
double tolerance_of(ElementType type, std::string_view tactic = "") {
  if (type == ElementType::kFloat16) return 3e-3;
  if (type == ElementType::kBFloat16) return 2e-2;
  return tactic == kTwoTerms ? 1e-3 : 3e-5;
}

// The backend's own choice, and the tactics of floats of this type.
std::vector<std::string> tactics_of(ElementType type) {
  std::vector<std::string> result{""};
  if ((has_vector_blocks() || has_bf16_tiles()) && type == ElementType::kBFloat16)
    result.emplace_back(kBFloat16Probabilities);
  if (has_bf16_tiles() && type == ElementType::kFloat) result.insert(result.end(), {kTwoTerms, kThreeTerms});
  return result;
}

void expect_by_every_tactic(OneKernel one, bool refuses_blocks = false) {
  const ElementType type = one.inputs[0].type();
  for (const std::string& tactic : tactics_of(type)) {
    one.tactic = tactic;
    if (refuses_blocks && !tactic.empty()) {
      EXPECT_FALSE(one.run());
      EXPECT_NE(one.reason.find(tactic), std::string::npos) << one.reason;
      continue;
    }
    one.tolerance = tolerance_of(type, tactic);
    one.expect(tactic.empty() ? "cpu:attention" : "cpu:attention:" + tactic);
    set_thread_count(1);
    const auto alone = one.run();
    set_thread_count(3);
    const auto together = one.run();
    for (size_t i = 0; i < alone->size(); ++i) EXPECT_TRUE((*alone)[i].identical((*together)[i])) << tactic;
  }
}

Tensor values(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed, false);
}

void expect(AttributeMap attributes, std::vector<Tensor> inputs, int64_t version = 23, size_t outputs = 1) {
  expect_by_every_tactic({{"Attention", version, std::move(attributes), "", outputs}, std::move(inputs)});
}

TEST(AttentionKernel, LayoutsTypesAndSizes) {
  struct Sizes {
    int64_t batch, heads, shared, rows, keys, size, value;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1, 1, 1}, Sizes{2, 4, 2, 37, 45, 64, 64},
                         Sizes{1, 3, 3, 5, 700, 72, 40}, Sizes{2, 2, 1, 100, 257, 20, 130}}) {
    for (const ElementType type : {kF32, ElementType::kFloat16, ElementType::kBFloat16}) {
      expect({}, {values(type, {s.batch, s.heads, s.rows, s.size}, 1),
                  values(type, {s.batch, s.shared, s.keys, s.size}, 2),
                  values(type, {s.batch, s.shared, s.keys, s.value}, 3)});
      expect({{"q_num_heads", Attribute(s.heads)},
              {"kv_num_heads", Attribute(s.shared)},
              {"scale", Attribute(0.3F)}},
             {values(type, {s.batch, s.rows, s.heads * s.size}, 1),
              values(type, {s.batch, s.keys, s.shared * s.size}, 2),
              values(type, {s.batch, s.keys, s.shared * s.value}, 3)});
    }
  }
}

std::vector<Tensor> small(int64_t rows, int64_t keys, Tensor mask = {}, ElementType type = kF32) {
  std::vector<Tensor> inputs = {values(type, {2, 3, rows, 16}, 1), values(type, {2, 3, keys, 16}, 2),
                                values(type, {2, 3, keys, 8}, 3)};
  if (mask.is_defined()) inputs.push_back(std::move(mask));
  return inputs;
}

TEST(AttentionKernel, MasksOfEveryShapeAndType) {
  for (const Dims& dims : {Dims{40, 300}, Dims{1, 300}, Dims{2, 1, 40, 300}, Dims{1, 3, 1, 300},
                           Dims{2, 3, 40, 1}, Dims{3, 1, 1}}) {
    for (const ElementType type : {kF32, ElementType::kFloat16, ElementType::kBool})
      expect({}, small(40, 300, values(type, dims, 9)));
  }
  const double forbidden = -std::numeric_limits<double>::infinity();
  expect({}, small(2, 3, ops::floats({2, 3}, {forbidden, forbidden, forbidden, 0, forbidden, 1})));
  expect({}, small(2, 5, values(kF32, {2, 3}, 4)), 24);  // shorter than the keys
}

// Weights that are rounded where they are computed: whole and partial blocks of queries and keys, masks of
// operands' own type and others, and what the keys' range cuts off at either end.
TEST(AttentionKernel, WeightsOfBFloat16) {
  constexpr auto kType = ElementType::kBFloat16;
  for (const int64_t rows : {16, 32, 37, 50}) {
    for (const int64_t keys : {8, 31, 32, 48, 197, 300}) {
      expect({}, small(rows, keys, {}, kType));
      expect({{"scale", Attribute(-0.2F)}}, small(rows, keys, {}, kType));
      expect({{"is_causal", Attribute(int64_t{1})}, {"left_window_size", Attribute(int64_t{7})}},
             small(rows, keys, {}, kType), 25);
      for (const Dims& dims : {Dims{rows, keys}, Dims{2, 1, 1, keys}, Dims{1, 3, rows, 1}}) {
        for (const ElementType type : {kType, ElementType::kBool})
          expect({}, small(rows, keys, values(type, dims, 9), kType));
      }
    }
    expect({{"softcap", Attribute(2.5F)}}, small(rows, 70, {}, kType));
    expect({}, small(rows, 40, values(kType, {rows, 24}, 9), kType), 24);  // shorter than the keys
  }
}

TEST(AttentionKernel, CausalWindowsAndCaps) {
  for (const int64_t rows : {1, 50, 600}) {
    expect({{"is_causal", Attribute(int64_t{1})}}, small(rows, 600));
    expect({{"softcap", Attribute(2.5F)}, {"scale", Attribute(1.0F)}}, small(rows, 70));
    expect({{"is_causal", Attribute(int64_t{1})}, {"left_window_size", Attribute(int64_t{7})}},
           small(rows, 600), 25);
  }
}

TEST(AttentionKernel, PastPresentAndValidKeys) {
  std::vector<Tensor> inputs = small(4, 5);
  inputs.insert(inputs.end(), {Tensor(), values(kF32, {2, 3, 30, 16}, 5), values(kF32, {2, 3, 30, 8}, 6)});
  expect({{"is_causal", Attribute(int64_t{1})}}, inputs, 23, 3);
  std::vector<Tensor> padded = small(4, 50);
  padded.insert(padded.end(), {Tensor(), Tensor(), Tensor(), ops::ints({2}, {50, 17})});
  expect({{"is_causal", Attribute(int64_t{1})}}, padded, 24);
}

TEST(AttentionKernel, ProbabilitiesAreRoundedForBFloat16Alone) {
  const auto offers = [](ElementType type, int64_t rows) {
    const auto offered = OneKernel{{"Attention", 23}, small(rows, 40, {}, type)}.tactics();
    return std::count(offered.begin(), offered.end(), kBFloat16Probabilities);
  };
  for (const int64_t rows : {1, 32}) {
    // Tiles are for many rows.
    EXPECT_EQ(offers(ElementType::kBFloat16, rows), has_bf16_tiles() ? rows > 1 : has_vector_blocks());
    EXPECT_EQ(offers(kF32, rows), 0);
  }
  OneKernel floats{{"Attention", 23}, small(32, 40)};
  floats.tactic = kBFloat16Probabilities;
  EXPECT_FALSE(floats.run());
  EXPECT_NE(floats.reason.find(kBFloat16Probabilities), std::string::npos) << floats.reason;
}

// Row 0 may attend nothing, row 1 has a score that is no number, row 2 an infinite one, and the scores of row
// 3 are so large that they stand for one key.
TEST(AttentionKernel, RowsWithoutWeights) {
  const double forbidden = -std::numeric_limits<double>::infinity();
  for (const int64_t keys : {3, 300}) {
    std::vector<double> mask(static_cast<size_t>(20 * keys), 0);
    std::fill_n(mask.begin(), keys, forbidden);
    for (const ElementType type : {kF32, ElementType::kBFloat16}) {
      std::vector<Tensor> inputs = small(20, keys, Tensor::from_doubles(type, {20, keys}, mask), type);
      auto q = inputs[0].to_doubles();
      q[16] = std::numeric_limits<double>::quiet_NaN();
      q[2 * 16] = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < 16; ++i) q[3 * 16 + i] *= 0x1p110;
      inputs[0] = Tensor::from_doubles(type, inputs[0].dims(), q);
      expect({}, inputs);
      expect({}, {inputs[0], inputs[1], inputs[2]});
      for (const int64_t guarded : {0, 1}) {
        OneKernel one{{"Attention", 1, {{"guarded", Attribute(guarded)}}, "vernier"}, inputs};
        expect_by_every_tactic(one);
        EXPECT_EQ(std::isnan((*one.run())[0].to_doubles()[0]), guarded == 0);
      }
    }
  }
}

void expect_multi_head(AttributeMap attributes, std::vector<Tensor> inputs, size_t outputs = 1) {
  attributes["num_heads"] = Attribute(int64_t{4});
  // In bfloat16, sums of operands and their bias are no operands of blocks.
  const bool rounds =
      inputs[0].type() == ElementType::kBFloat16 && inputs.size() > 3 && inputs[3].is_defined();
  expect_by_every_tactic(
      {{"MultiHeadAttention", 1, std::move(attributes), "com.microsoft", outputs}, std::move(inputs)},
      rounds);
}

TEST(MultiHeadAttentionKernel, OperandsAndTheirBias) {
  for (const ElementType type : {kF32, ElementType::kFloat16, ElementType::kBFloat16}) {
    const Tensor q = values(type, {2, 9, 32}, 1), k = values(type, {2, 11, 32}, 2),
                 v = values(type, {2, 11, 48}, 3), bias = values(type, {32 + 32 + 48}, 4),
                 bias_of_three = values(type, {96}, 5);
    expect_multi_head({}, {q, k, v});
    expect_multi_head({{"scale", Attribute(0.2F)}}, {q, k, v, bias});
    expect_multi_head({}, {q, values(type, {2, 4, 11, 8}, 2), values(type, {2, 4, 11, 8}, 3), bias_of_three});
    expect_multi_head({}, {q, values(type, {2, 11, 4, 2, 8}, 6)});
    expect_multi_head({{"unidirectional", Attribute(int64_t{1})}},
                      {values(type, {2, 9, 4, 3, 8}, 7), Tensor(), Tensor(), bias_of_three});
  }
}

TEST(MultiHeadAttentionKernel, PaddingInEveryForm) {
  const Tensor q = values(kF32, {2, 9, 32}, 1), k = values(kF32, {2, 300, 32}, 2),
               v = values(kF32, {2, 300, 32}, 3);
  const auto flags = [](Dims dims) { return random_tensor(ElementType::kInt32, std::move(dims), 4, false); };
  const auto ends = [](const std::vector<int64_t>& ends) {
    return Tensor::from_ints(ElementType::kInt32, {static_cast<int64_t>(ends.size())}, ends);
  };
  for (const Tensor& padding :
       {ends({299, 40}), ends({299, 40, 3, 39}), flags({2, 300}), flags({2, 9, 300})}) {
    expect_multi_head({}, {q, k, v, Tensor(), padding});
    expect_multi_head({{"mask_filter_value", Attribute(-3.0F)}, {"unidirectional", Attribute(int64_t{1})}},
                      {q, k, v, Tensor(), padding, values(kF32, {1, 4, 9, 300}, 5)});
  }
}

TEST(MultiHeadAttentionKernel, PastAndPresent) {
  for (const ElementType type : {kF32, ElementType::kBFloat16}) {
    for (const int64_t rows : {1, 3})
      expect_multi_head({{"unidirectional", Attribute(int64_t{1})}},
                        {values(type, {2, rows, 32}, 1), values(type, {2, rows, 32}, 2),
                         values(type, {2, rows, 32}, 3), rows == 1 ? values(type, {96}, 4) : Tensor(),
                         Tensor(), Tensor(), values(type, {2, 4, 7, 8}, 5), values(type, {2, 4, 7, 8}, 6)},
                        3);
  }
}

Tensor lengths(const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt32, {static_cast<int64_t>(values.size())}, values);
}

// 4 query heads share 2; `totals` are the keys of each entry afterwards.
struct GroupQuery {
  int64_t rows, past;
  std::vector<int64_t> totals;
  AttributeMap attributes = {};
  bool packed = false, biased = false, sinks = false;

  void expect() const {
    const auto batch = static_cast<int64_t>(totals.size());
    const int64_t longest = *std::max_element(totals.begin(), totals.end());
    std::vector<int64_t> last = totals;
    for (int64_t& each : last) --each;
    std::vector<Tensor> inputs(12);
    if (packed) {
      inputs[0] = values(kF32, {batch, rows, 8 * 16}, 1);
    } else {
      for (size_t i = 0; i < 3; ++i)
        inputs[i] = values(kF32, {batch, rows, (i == 0 ? 4 : 2) * 16}, static_cast<unsigned>(i));
    }
    for (size_t i = 3; i < 5 && past > 0; ++i)
      inputs[i] = values(kF32, {batch, 2, past, 16}, static_cast<unsigned>(i));
    inputs[5] = lengths(last);
    inputs[6] = lengths({longest}).reshaped({});
    inputs[7] = values(kF32, {400, 6}, 7);
    inputs[8] = values(kF32, {400, 6}, 8);
    if (biased) inputs[10] = values(kF32, {1, 4, rows, std::max(longest, past)}, 9);
    if (sinks) inputs[11] = values(kF32, {4}, 10);
    AttributeMap all = attributes;
    all["num_heads"] = Attribute(int64_t{4});
    all["kv_num_heads"] = Attribute(int64_t{2});
    expect_by_every_tactic({{"GroupQueryAttention", 1, all, "com.microsoft", 3}, inputs, {5, 6}});
  }
};

TEST(GroupQueryAttentionKernel, PromptsAndSteps) {
  for (const int64_t rotary : {0, 1}) {
    const AttributeMap attributes = {{"do_rotary", Attribute(rotary)},
                                     {"rotary_interleaved", Attribute(rotary)}};
    for (const bool packed : {false, true}) {
      GroupQuery{5, 0, {5, 5}, attributes, packed}.expect();
      GroupQuery{300, 0, {300, 17}, attributes, packed}.expect();  // padded behind
      GroupQuery{1, 6, {4, 7}, attributes, packed}.expect();
      GroupQuery{1, 12, {4, 7}, attributes, packed}.expect();  // a buffer with room
      GroupQuery{3, 6, {9}, attributes, packed}.expect();
    }
  }
}

TEST(GroupQueryAttentionKernel, Options) {
  const auto with = [](const char* name, Attribute value) { return AttributeMap{{name, std::move(value)}}; };
  for (const int64_t rows : {1, 4}) {
    const std::vector<int64_t> totals = {10, 10 - rows};
    GroupQuery{rows, 12, totals, with("local_window_size", Attribute(int64_t{3}))}.expect();
    GroupQuery{rows, 12, totals, with("softcap", Attribute(1.5F))}.expect();
    GroupQuery{rows, 12, totals, with("smooth_softmax", Attribute(int64_t{1}))}.expect();
    GroupQuery{rows, 12, totals, with("scale", Attribute(0.5F)), false, true}.expect();
    GroupQuery{rows, 12, totals, with("do_rotary", Attribute(int64_t{1})), true, false, true}.expect();
  }
}

}  // namespace
}  // namespace vernier::cpu

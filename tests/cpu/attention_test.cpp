// Attention against the reference: layouts, grouped heads, masks, pasts, windows.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using ops::OneNode;
constexpr ElementType kF32 = ElementType::kFloat;

// Scores reach 30 here, and an error of theirs is one of the weights.
double tolerance_of(ElementType type) {
  if (type == ElementType::kFloat16) return 3e-3;
  return type == ElementType::kBFloat16 ? 2e-2 : 3e-5;
}

Tensor values(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed, false);
}

void expect(AttributeMap attributes, std::vector<Tensor> inputs, int64_t version = 23, size_t outputs = 1) {
  const double tolerance = tolerance_of(inputs[0].type());
  OneKernel one{{"Attention", version, std::move(attributes), "", outputs}, std::move(inputs)};
  one.tolerance = tolerance;
  one.expect("cpu:attention");
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

std::vector<Tensor> small(int64_t rows, int64_t keys, Tensor mask = {}) {
  std::vector<Tensor> inputs = {values(kF32, {2, 3, rows, 16}, 1), values(kF32, {2, 3, keys, 16}, 2),
                                values(kF32, {2, 3, keys, 8}, 3)};
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

// Row 0 may attend nothing, row 1 has a score that is no number.
TEST(AttentionKernel, RowsWithoutWeights) {
  const double forbidden = -std::numeric_limits<double>::infinity();
  for (const int64_t keys : {3, 300}) {
    std::vector<double> mask(static_cast<size_t>(4 * keys), 0);
    std::fill_n(mask.begin(), keys, forbidden);
    std::vector<Tensor> inputs = small(4, keys, ops::floats({4, keys}, mask));
    auto* q = static_cast<float*>(inputs[0].mutable_raw());
    q[16] = std::numeric_limits<float>::quiet_NaN();
    q[2 * 16] = std::numeric_limits<float>::infinity();
    expect({}, inputs);
    for (const int64_t guarded : {0, 1}) {
      OneKernel one{{"Attention", 1, {{"guarded", Attribute(guarded)}}, "vernier"}, inputs};
      one.tolerance = 3e-5;
      one.expect("cpu:attention");
      EXPECT_EQ(std::isnan((*one.run())[0].to_doubles()[0]), guarded == 0);
    }
  }
}

TEST(AttentionKernel, MultiHeadAttention) {
  OneKernel one{{"MultiHeadAttention", 1, {{"num_heads", Attribute(int64_t{4})}}, "com.microsoft"},
                {values(kF32, {2, 9, 32}, 1), values(kF32, {2, 11, 32}, 2), values(kF32, {2, 11, 48}, 3)}};
  one.tolerance = 1e-5;
  one.expect("cpu:attention");
}

}  // namespace
}  // namespace vernier::cpu

// Tests what a plan rounds inside an operator: factors of products, probabilities of attention. Expected
// values are computed here, by the formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"
#include "vernier/ops/group.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;

constexpr InnerRoundings kTf32{OperandFormat::tf32(), {}};
constexpr InnerRoundings kBf16Probabilities{{}, ElementType::kBFloat16};

// In units of 2^-11, of which TF32 has only the even ones between 1 and 2.
double just_above_one(int units) {
  return 1 + std::scalbn(units, -11);
}

TEST(OperandFormat, Tf32HasTenBitsAndTheRangeOfFloat) {
  const OperandFormat format = OperandFormat::tf32();
  EXPECT_EQ(format.round(just_above_one(2)), just_above_one(2));
  EXPECT_EQ(format.round(just_above_one(1)), 1);                  // of two neighbours the even one
  EXPECT_EQ(format.round(just_above_one(3)), just_above_one(4));  // again
  EXPECT_EQ(format.round(just_above_one(1) + 0x1p-20), just_above_one(2));
  EXPECT_EQ(format.round(-0x1p100), -0x1p100);
  EXPECT_EQ(format.round(std::numeric_limits<double>::infinity()), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(format.round(std::nan(""))));
  EXPECT_EQ(format.unit_roundoff(), 0x1p-11);
  EXPECT_EQ(format.text(), "tf32");
  EXPECT_FALSE(format == OperandFormat(ElementType::kFloat));
  EXPECT_THROW(OperandFormat(ElementType::kInt8).round(1), Error);
}

// Each operator multiplies [a, b] with [1, 1 + 2^-10], which TF32 has; only the first factor is rounded.
TEST(InnerRoundings, FactorsOfEveryProduct) {
  const double a = just_above_one(1), b = just_above_one(3), w = just_above_one(2);
  const double exact = a + b * w, rounded = 1 + just_above_one(4) * w;
  const Tensor row = floats({1, 2}, {a, b}), column = floats({2, 1}, {1, w});
  const Tensor image = floats({1, 2, 1}, {a, b}), kernel = floats({1, 2, 1}, {1, w}),
               transposed = floats({2, 1, 1}, {1, w});
  const auto expect = [&](const OneNode& node, const std::vector<Tensor>& inputs) {
    EXPECT_THAT(node.run(inputs)[0].to_doubles(), ElementsAre(static_cast<float>(exact))) << node.op;
    EXPECT_THAT(node.run(inputs, ReferenceMode::kDeclared, kTf32)[0].to_doubles(),
                ElementsAre(static_cast<float>(rounded)))
        << node.op;
    EXPECT_THAT(node.run(inputs, ReferenceMode::kIdeal, kTf32)[0].to_doubles(), ElementsAre(rounded))
        << node.op;
  };
  expect({"MatMul", 13}, {row, column});
  expect({"Gemm", 13}, {row, column});
  expect({"Einsum", 12, {{"equation", std::string("ij,jk->ik")}}}, {row, column});
  expect({"FusedMatMul", 1, {}, "com.microsoft"}, {row, column});
  expect({"FusedGemm", 1, {{"activation", std::string("Relu")}}, "com.microsoft"}, {row, column});
  expect({"Conv", 11}, {image, kernel});
  expect({"FusedConv", 1, {{"activation", std::string("Relu")}}, "com.microsoft"}, {image, kernel});
  expect({"ConvTranspose", 11}, {image, transposed});
}

// The bias of a product is none of its factors.
TEST(InnerRoundings, NoBias) {
  const double bias = just_above_one(1);
  const auto y = OneNode("Gemm", 13)
                     .run({floats({1, 1}, {2}), floats({1, 1}, {3}), floats({1}, {bias})},
                          ReferenceMode::kDeclared, kTf32);
  EXPECT_THAT(y[0].to_doubles(), ElementsAre(6 + bias));
}

// h' = tanh(w * x + r * h) for two steps: x, w, r and every state are factors.
TEST(InnerRoundings, StatesOfRecurrentOperators) {
  const double x = just_above_one(1), w = just_above_one(3), r = 0.7;
  const OneNode rnn("RNN", 22, {{"hidden_size", int64_t{1}}});
  const auto y = rnn.run({floats({2, 1, 1}, {x, x}), floats({1, 1, 1}, {w}), floats({1, 1, 1}, {r})},
                         ReferenceMode::kDeclared, kTf32)[0]
                     .to_doubles();
  const auto tf32 = [](double value) { return OperandFormat::tf32().round(value); };
  const double first = std::tanh(tf32(w) * tf32(x)),
               second = std::tanh(tf32(w) * tf32(x) + tf32(static_cast<float>(r)) * tf32(first));
  EXPECT_FLOAT_EQ(static_cast<float>(y[0]), static_cast<float>(first));
  EXPECT_EQ(static_cast<float>(y[1]), static_cast<float>(second));
}

struct OneQuery {
  std::vector<double> q{0.3, -1.2}, k{0.5, 0.1, -0.4, 0.9, 1.1, -0.7}, v{1.5, -2.25, 0.625};  // three keys

  // With one head of size 2 for queries and keys, and of size 1 for values.
  double attend(const OperandFormat& factors, const OperandFormat& probabilities) const {
    std::vector<double> scores;
    for (size_t key = 0; key < v.size(); ++key) {
      double score = 0;
      for (size_t i = 0; i < q.size(); ++i)
        score += factors.round(static_cast<float>(q[i])) *
                 factors.round(static_cast<float>(k[key * q.size() + i]));
      scores.push_back(score / std::sqrt(2.0));
    }
    const double top = *std::max_element(scores.begin(), scores.end());
    double sum = 0, y = 0;
    for (const double score : scores) sum += std::exp(score - top);
    for (size_t key = 0; key < v.size(); ++key)
      y += factors.round(probabilities.round(std::exp(scores[key] - top))) / sum * factors.round(v[key]);
    return static_cast<float>(y);
  }
};

TEST(InnerRoundings, ProbabilitiesOfAttention) {
  const OneQuery one;
  const auto expect = [&](const OneNode& node, const std::vector<Tensor>& inputs) {
    for (const InnerRoundings& roundings : {InnerRoundings(), kBf16Probabilities, kTf32}) {
      const auto y = node.run(inputs, ReferenceMode::kDeclared, roundings)[0].to_doubles();
      EXPECT_THAT(y, ElementsAre(one.attend(roundings.operands, roundings.probabilities))) << node.op;
    }
  };
  const Tensor q = floats({1, 1, 1, 2}, one.q), k = floats({1, 1, 3, 2}, one.k),
               v = floats({1, 1, 3, 1}, one.v);
  expect({"Attention", 23}, {q, k, v});
  expect({"Attention", 1, {}, kInternalDomain}, {q, k, v});
  expect({"MultiHeadAttention", 1, {{"num_heads", int64_t{1}}}, "com.microsoft"},
         {q.reshaped({1, 1, 2}), k.reshaped({1, 3, 2}), v.reshaped({1, 3, 1})});
  const double declared = one.attend({}, {});
  EXPECT_GT(std::abs(one.attend({}, ElementType::kBFloat16) - declared), 1e-4);
  EXPECT_GT(std::abs(one.attend(OperandFormat::tf32(), {}) - declared), 1e-6);
}

}  // namespace
}  // namespace vernier::ops

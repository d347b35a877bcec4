// Masks of attention: recognised, and equal to what they were, down to the rows that may attend nothing.
#include "passes/attention_lines.h"

namespace vernier {
namespace {

TEST(RecogniseAttention, RowsThatMayAttendNothing) {
  const std::string inputs = kSeparate + ", %mask: f32[2, 1, 6, 6]";
  const std::vector<Line> masked = heads() + kScaled + std::vector<Line>{{"m", "Add", "%s, %mask"}};
  const NamedData data = {{"mask", forbidding_mask(false)}};
  const auto plain = attended(inputs, masked + weighted("m"), kSplit, data);
  EXPECT_EQ(plain.operators, "Attention Reshape");
  EXPECT_FALSE(plain.guarded());
  const auto safe = attended(inputs, masked + guarded("m"), kSplit, data);
  EXPECT_EQ(safe.operators, "Attention Reshape");
  EXPECT_TRUE(safe.guarded());
}

TEST(RecogniseAttention, GuardOfNarrowWeights) {
  const std::string inputs =
      "%q: f16[2, 4, 6, 8], %k: f16[2, 4, 6, 8], %v: f16[2, 4, 6, 8], %none: f16[], %mask: f16[2, 1, 6, 6]";
  const std::vector<Line> lines = {{"kt", "Transpose", "%k", "perm = ints[0, 1, 3, 2]"},
                                   {"p", "MatMul", "%q, %kt"},
                                   {"m", "Add", "%p, %mask"},
                                   {"w", "Softmax", "%m"},
                                   {"c", "Cast", "%w", "to = 1"},
                                   {"i", "IsNaN", "%c", "", 13},
                                   {"g", "Where", "%i, %none, %w"},
                                   {"y", "MatMul", "%g, %v"}};
  const auto result = attended(inputs, lines, {{"none", Tensor(ElementType::kFloat16, {})}},
                               {{"mask", forbidding_mask(false, ElementType::kFloat16)}});
  EXPECT_EQ(result.operators, "Attention");
  EXPECT_TRUE(result.guarded());
}

TEST(RecogniseAttention, GuardOfScoresThatAreNoNumbers) {
  NamedData data;
  Tensor q(ElementType::kFloat, {kBatch, kRows, kHeads * kSize});
  static_cast<float*>(q.mutable_raw())[3] = std::numeric_limits<float>::quiet_NaN();
  data["q"] = q;
  EXPECT_TRUE(attended(kSeparate, heads() + kScaled + guarded("s"), kSplit, data).guarded());
  EXPECT_FALSE(attended(kSeparate, heads() + kScaled + weighted("s"), kSplit, data).guarded());
}

TEST(RecogniseAttention, MasksThatChoose) {
  const std::string inputs = kSeparate + ", %mask: bool[2, 1, 6, 6], %least: f32[]";
  const NamedData data = {{"mask", forbidding_mask(true)}};
  for (const double least : {-kInfinity, -1e30, -3.4028234663852886e38}) {
    Constants constants = kSplit;
    constants["least"] = Tensor::from_doubles(ElementType::kFloat, {}, std::array{least});
    for (const char* choice : {"%mask, %s, %least", "%mask, %least, %s"}) {
      const std::vector<Line> lines = heads() + kScaled + std::vector<Line>{{"m", "Where", choice}};
      EXPECT_THAT(attended(inputs, lines + weighted("m"), constants, data).operators,
                  testing::EndsWith("Attention Reshape"));
    }
  }
}

TEST(RecogniseAttention, CausalConstants) {
  std::vector<double> bias(static_cast<size_t>(kRows * kRows)), flags(bias.size());
  for (int64_t i = 0; i < kRows * kRows; ++i) {
    const bool allowed = i % kRows <= i / kRows;
    bias[static_cast<size_t>(i)] = allowed ? 0 : -kInfinity;
    flags[static_cast<size_t>(i)] = allowed ? 1 : 0;
  }
  Constants constants = kSplit;
  constants["bias"] = Tensor::from_doubles(ElementType::kFloat, {kRows, kRows}, bias);
  constants["flags"] = Tensor::from_doubles(ElementType::kBool, {1, 1, kRows, kRows}, flags);
  constants["least"] = Tensor::from_doubles(ElementType::kFloat, {}, std::array{-3.4028234663852886e38});
  const std::string inputs = kSeparate + ", %bias: f32[6, 6], %flags: bool[1, 1, 6, 6], %least: f32[]";
  const std::vector<Line> adds = {{"m", "Add", "%s, %bias"}},
                          chooses = {{"m", "Where", "%flags, %s, %least"}};
  for (const auto& mask : {adds, chooses}) {
    const auto result = attended(inputs, heads() + kScaled + mask + weighted("m"), constants);
    EXPECT_EQ(result.operators, "Attention Reshape");
    EXPECT_TRUE(result.causal());
    EXPECT_EQ(result.attention().inputs.size(), 3u);
  }
  // Padding in front: row 0 may attend nothing for certain, and no flag says by how much less.
  NamedData padding;
  std::vector<double> front(static_cast<size_t>(kRows), 0);
  front[0] = -3e38;
  padding["padding"] = Tensor::from_doubles(ElementType::kFloat, {kRows}, front);
  const auto both = attended(inputs + ", %padding: f32[6]",
                             heads() + kScaled + std::vector<Line>{{"n", "Add", "%s, %padding"}} +
                                 std::vector<Line>{{"m", "Where", "%flags, %n, %least"}} + weighted("m"),
                             constants, padding);
  EXPECT_FALSE(both.causal());
  EXPECT_EQ(both.attention().inputs.size(), 4u);
}

TEST(RecogniseAttention, BiasOfPositions) {
  const std::string inputs = kSeparate + ", %bias: f32[1, 4, 6, 6], %mask: f32[2, 1, 1, 6]";
  const std::vector<Line> lines = {
      {"p", "MatMul", "%qh, %kh"}, {"b", "Add", "%bias, %p"}, {"m", "Add", "%b, %mask"}};
  EXPECT_EQ(attended(inputs, heads() + lines + weighted("m"), kSplit).operators, "Add Attention Reshape");
}

// Windows of an image are entries, whose masks differ: [1, 2 windows, 1, 6, 6].
TEST(RecogniseAttention, MaskOfWindows) {
  Constants constants = kSplit;
  constants["windows"] = sizes({1, kBatch, kHeads, kRows, kRows});
  constants["scores"] = sizes({kBatch, kHeads, kRows, kRows});
  const std::string inputs = kSeparate +
                             ", %bias: f32[1, 4, 6, 6], %mask: f32[1, 2, 1, 6, 6], %windows: i64[5], "
                             "%scores: i64[4]";
  const std::vector<Line> lines = {{"b", "Add", "%s, %bias"},
                                   {"there", "Reshape", "%b, %windows"},
                                   {"sum", "Add", "%there, %mask"},
                                   {"m", "Reshape", "%sum, %scores"}};
  EXPECT_THAT(attended(inputs, heads() + kScaled + lines + weighted("m"), constants).operators,
              testing::EndsWith("Attention Reshape"));
}

// float16 whose softmax is computed in float. A bias behind the choice tells the forbidden apart.
TEST(RecogniseAttention, CastsAroundTheSoftmax) {
  const std::string inputs =
      "%q: f16[2, 4, 6, 8], %k: f16[2, 4, 8, 6], %v: f16[2, 4, 6, 8], "
      "%mask: bool[2, 1, 6, 6], %least: f16[], %scale: f16[], %bias: f32[4, 6, 6]";
  Constants constants;
  constants["least"] = Tensor::from_doubles(ElementType::kFloat16, {}, std::array{-65504.0});
  constants["scale"] = Tensor::from_doubles(ElementType::kFloat16, {}, std::array{0.5});
  const std::vector<Line> scores = {{"kt", "Transpose", "%k", "perm = ints[0, 1, 3, 2]"},
                                    {"kh", "Transpose", "%kt", "perm = ints[0, 1, 3, 2]"},
                                    {"p", "MatMul", "%q, %kh"},
                                    {"s", "Mul", "%p, %scale"},
                                    {"m", "Where", "%mask, %s, %least"},
                                    {"c", "Cast", "%m", "to = 1"}};
  const NamedData data = {{"mask", forbidding_mask(true)}};
  for (const std::string last : {"c", "b"}) {
    const std::vector<Line> lines = {
        {"w", "Softmax", "%" + last}, {"n", "Cast", "%w", "to = 10"}, {"y", "MatMul", "%n, %v"}};
    const std::vector<Line> bias = {{"b", "Add", "%c, %bias"}};
    const auto all = last == "b" ? scores + bias + lines : scores + lines;
    EXPECT_THAT(attended(inputs, all, constants, data).operators,
                testing::EndsWith(last == "c" ? "Attention" : "Softmax Cast MatMul"));
  }
}

}  // namespace
}  // namespace vernier

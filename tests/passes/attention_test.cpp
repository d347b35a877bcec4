// Attention in the forms that exporters write: recognised, and equal to what it was.
#include "passes/attention_lines.h"

namespace vernier {
namespace {

TEST(RecogniseAttention, ScaleAfterOrBeforeOrHalfOfItOnEachSide) {
  EXPECT_EQ(attended(kSeparate, heads() + kScaled + weighted("s"), kSplit).operators, "Attention Reshape");
  const std::vector<Line> both = {
      {"qs", "Mul", "%qh, %half"}, {"ks", "Mul", "%kh, %half"}, {"p", "MatMul", "%qs, %ks"}};
  EXPECT_EQ(attended(kSeparate, heads() + both + weighted("p"), kSplit).operators, "Attention Reshape");
  const std::vector<Line> queries = {{"qs", "Div", "%qh, %two"}, {"p", "MatMul", "%qs, %kh"}};
  EXPECT_EQ(attended(kSeparate, heads() + queries + weighted("p"), kSplit).operators, "Attention Reshape");
}

TEST(RecogniseAttention, ASoftmaxAlongAnotherAxisStays) {
  const std::vector<Line> lines = {
      {"p", "MatMul", "%qh, %kh"}, {"w", "Softmax", "%p", "axis = 1"}, {"y", "MatMul", "%w, %vh"}};
  EXPECT_EQ(attended(kSeparate, heads() + lines, kSplit).operators,
            "Reshape Transpose Reshape Transpose Reshape Transpose MatMul Softmax MatMul");
}

// One product of [2, 6, 3 * 32], cut by columns, or seen as [2, 6, 3, 4, 8] and cut by the third axis.
TEST(RecogniseAttention, PackedProjections) {
  Constants constants = kSplit;
  constants["five"] = sizes({kBatch, kRows, 3, kHeads, kSize});
  for (int64_t i = 0; i < 4; ++i) {
    constants["at" + std::to_string(i)] = sizes({32 * i});
    constants["i" + std::to_string(i)] = Tensor::from_ints(ElementType::kInt64, {}, std::array{i});
  }
  constants["axis"] = sizes({2});
  std::string inputs = "%x: f32[2, 6, 96], %split: i64[4], %five: i64[5], %axis: i64[1]";
  for (int i = 0; i < 4; ++i) inputs += fmt::format(", %at{}: i64[1], %i{}: i64[]", i, i);
  std::vector<Line> slices,
      gathers = {{"x5", "Reshape", "%x, %five"}, {"xt", "Transpose", "%x5", "perm = ints[2, 0, 3, 1, 4]"}};
  const std::array names = {"q", "k", "v"};
  for (size_t i = 0; i < 3; ++i) {
    slices.push_back({names[i], "Slice", fmt::format("%x, %at{}, %at{}, %axis", i, i + 1)});
    gathers.push_back(
        {fmt::format("{}{}", names[i], i == 1 ? "r" : "h"), "Gather", fmt::format("%xt, %i{}", i)});
  }
  gathers.push_back({"kh", "Transpose", "%kr", "perm = ints[0, 1, 3, 2]"});
  EXPECT_EQ(attended(inputs, slices + heads() + kScaled + weighted("s"), constants).operators,
            "Slice Slice Slice Attention Reshape");
  const auto packed = attended(inputs, gathers + kScaled + weighted("s"), constants);
  EXPECT_EQ(packed.operators, "Split Attention Reshape");
  rewrite(*packed.model, {read_packed_heads()});
  EXPECT_EQ(operators(*packed.model->graph), "attention(Split Attention) Reshape");
}

// Heads of keys and values that several queries share: [2, 2, 6, 8] copied to [2, 4, 6, 8].
TEST(RecogniseAttention, GroupedHeads) {
  Constants constants = kSplit;
  constants["two_axis"] = sizes({2});
  constants["copies"] = sizes({kBatch, 2, 2, kRows, kSize});
  constants["all"] = sizes({kBatch, kHeads, kRows, kSize});
  constants["shared"] = sizes({kBatch, kRows, 2, kSize});
  const std::string inputs =
      "%split: i64[4], %two_axis: i64[1], %copies: i64[5], %all: i64[4], "
      "%shared: i64[4], %q: f32[2, 6, 32], %k: f32[2, 6, 16], %v: f32[2, 6, 16]";
  std::vector<Line> lines = {{"q4", "Reshape", "%q, %split"},
                             {"qh", "Transpose", "%q4", "perm = ints[0, 2, 1, 3]"}};
  for (const std::string name : {"k", "v"}) {
    lines = lines +
            std::vector<Line>{{name + "4", "Reshape", fmt::format("%{}, %shared", name)},
                              {name + "t", "Transpose", fmt::format("%{}4", name), "perm = ints[0, 2, 1, 3]"},
                              {name + "u", "Unsqueeze", fmt::format("%{}t, %two_axis", name)},
                              {name + "e", "Expand", fmt::format("%{}u, %copies", name)},
                              {name + (name == "k" ? "r" : "h"), "Reshape", fmt::format("%{}e, %all", name)}};
  }
  lines.push_back({"kh", "Transpose", "%kr", "perm = ints[0, 1, 3, 2]"});
  const auto result = attended(inputs, lines + kScaled + guarded("s"), constants);
  EXPECT_EQ(result.operators, "Attention Reshape");
  EXPECT_EQ(result.attention().attribute<int64_t>("q_num_heads", 0), kHeads);
  EXPECT_EQ(result.attention().attribute<int64_t>("kv_num_heads", 0), 2);
}

}  // namespace
}  // namespace vernier

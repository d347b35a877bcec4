#include "passes/attention_lines.h"

namespace vernier {
namespace {

Tensor filled(const Dims& dims, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(element_count(dims)));
  for (float& value : values) value = normal(random);
  return Tensor::from<float>(ElementType::kFloat, dims, values);
}

// Attention of the products of %x: f32[2, 6, 16] with 32, 16 and 24 columns; four heads of queries.
constexpr const char* kInputs =
    "%x: f32[2, 6, 16], %z: f32[2, 6, 16], %long: f32[2, 33, 16], %wq: f32[16, 32], %wk: f32[16, 16], %wv: "
    "f32[16, 24], %bq: "
    "f32[32], "
    "%bv: f32[24], %bz: f32[1]";
const Line kAttention{"y", "Attention", "%q, %k, %v", "q_num_heads = 4, kv_num_heads = 2", 23};

Model model(std::vector<Line> lines) {
  lines.push_back(kAttention);
  return attention_model(kInputs, lines,
                         {{"wq", filled({16, 32}, 1)},
                          {"wk", filled({16, 16}, 2)},
                          {"wv", filled({16, 24}, 3)},
                          {"bq", filled({32}, 4)},
                          {"bv", filled({24}, 5)},
                          {"bz", filled({1}, 6)}});
}

std::string joined(const std::vector<Line>& lines) {
  const Model before = model(lines);
  Model after = model(lines);
  auto fired = rewrite(after, {join_products(), fold_constants()});
  EXPECT_EQ(distance(before, after), 0);
  return fired["join-products"] == 0 ? "apart" : operators(*after.graph);
}

const Line kQueries{"q", "MatMul", "%x, %wq"}, kKeys{"k", "MatMul", "%x, %wk"},
    kValues{"v", "MatMul", "%x, %wv"};

TEST(JoinProducts, OfTheSameRows) {
  EXPECT_EQ(joined({kQueries, kKeys, kValues}), "MatMul Split Attention");
}

TEST(JoinProducts, KeysWithoutABiasBesideOthers) {
  const Line queries{"qp", "MatMul", "%x, %wq"}, values{"vp", "MatMul", "%x, %wv"};
  EXPECT_EQ(joined({queries, {"q", "Add", "%qp, %bq"}, kKeys, values, {"v", "Add", "%bv, %vp"}}),
            "MatMul Add Split Attention");
}

TEST(JoinProducts, NotOfOtherRowsNorWithASumOfOneNumber) {
  EXPECT_EQ(joined({kQueries, kKeys, {"v", "MatMul", "%z, %wv"}}), "apart");
  EXPECT_EQ(joined({{"qp", "MatMul", "%x, %wq"}, {"q", "Add", "%qp, %bz"}, kKeys, kValues}), "apart");
}

TEST(JoinProducts, NotOfManyRows) {
  EXPECT_EQ(
      joined({{"q", "MatMul", "%long, %wq"}, {"k", "MatMul", "%long, %wk"}, {"v", "MatMul", "%long, %wv"}}),
      "apart");
}

TEST(JoinProducts, NotWhereSomethingElseReadsOne) {
  EXPECT_EQ(joined({kQueries, kKeys, {"vp", "MatMul", "%x, %wv"}, {"v", "Add", "%vp, %vp"}}), "apart");
  Model shown = model({kQueries, kKeys, kValues});
  for (const auto& node : shown.graph->nodes()) {
    if (node->output(0)->name == "k") shown.graph->outputs.push_back(node->output(0));
  }
  EXPECT_EQ(rewrite(shown, {join_products()})["join-products"], 0);
}

}  // namespace
}  // namespace vernier

#include "passes/attention_lines.h"
#include "passes/expect_pass.h"
#include "vernier/ops/tf32.h"

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

const PassCase kJoin{join_products(), {}, {fold_constants(), remove_dead_code()}};

const Line kQueries{"q", "MatMul", "%x, %wq"}, kKeys{"k", "MatMul", "%x, %wk"},
    kValues{"v", "MatMul", "%x, %wv"};

TEST(JoinProducts, OfTheSameRows) {
  expect_pass(kJoin, model({kQueries, kKeys, kValues}),
              R"(graph "g" (%x: f32[2, 6, 16], %z: f32[2, 6, 16], %long: f32[2, 33, 16]) -> (%y) {
      const %q/columns = i64[3] hex"200000000000000010000000000000001800000000000000"
      const %q/weights/constant = f32[16, 72] hash 4dc85c76b07e1702
      %q/product: f32[2, 6, 72] = MatMul(%x, %q/weights/constant) version 13 @"q/product" from ["k", "q", "v"]
      %q: f32[2, 6, 32], %k: f32[2, 6, 16], %v: f32[2, 6, 24] = Split(%q/product, %q/columns) {axis = 2} version 18 @"q" from ["k", "q", "v"]
      %y: f32[2, 6, 48] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 4} version 23 @"y" from ["y"]
  })");
}

TEST(JoinProducts, KeysWithoutABiasBesideOthers) {
  const Line queries{"qp", "MatMul", "%x, %wq"}, values{"vp", "MatMul", "%x, %wv"};
  expect_pass(kJoin, model({queries, {"q", "Add", "%qp, %bq"}, kKeys, values, {"v", "Add", "%bv, %vp"}}),
              R"(graph "g" (%x: f32[2, 6, 16], %z: f32[2, 6, 16], %long: f32[2, 33, 16]) -> (%y) {
      const %q/columns = i64[3] hex"200000000000000010000000000000001800000000000000"
      const %q/weights/constant = f32[16, 72] hash 4dc85c76b07e1702
      const %q/bias/constant = f32[72] hash 6b4dd4e79e63b0c7
      %q/product: f32[2, 6, 72] = MatMul(%x, %q/weights/constant) version 13 @"q/product" from ["k", "q", "qp", "v", "vp"]
      %q/joined: f32[2, 6, 72] = Add(%q/product, %q/bias/constant) version 14 @"q/joined" from ["k", "q", "qp", "v", "vp"]
      %q: f32[2, 6, 32], %k: f32[2, 6, 16], %v: f32[2, 6, 24] = Split(%q/joined, %q/columns) {axis = 2} version 18 @"q" from ["k", "q", "qp", "v", "vp"]
      %y: f32[2, 6, 48] = Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 4} version 23 @"y" from ["y"]
  })");
}

TEST(JoinProducts, OfProductsThatMayAllRoundToTf32OrNone) {
  const auto with = [](Line line) {
    line.attributes = "tf32 = 1";
    return line;
  };
  expect_unchanged({join_products()}, model({with(kQueries), kKeys, with(kValues)}));
  Model prepared, after;
  ASSERT_EQ(run_case(kJoin, model({with(kQueries), with(kKeys), with(kValues)}), prepared, after), 1);
  for (const auto& node : after.graph->nodes())
    EXPECT_EQ(ops::may_round_to_tf32(*node), node->op == "MatMul") << node->name;
}

TEST(JoinProducts, NotOfOtherRowsNorWithASumOfOneNumber) {
  expect_unchanged({join_products()}, model({kQueries, kKeys, {"v", "MatMul", "%z, %wv"}}));
  expect_unchanged({join_products()},
                   model({{"qp", "MatMul", "%x, %wq"}, {"q", "Add", "%qp, %bz"}, kKeys, kValues}));
}

TEST(JoinProducts, NotOfManyRows) {
  expect_unchanged(
      {join_products()},
      model({{"q", "MatMul", "%long, %wq"}, {"k", "MatMul", "%long, %wk"}, {"v", "MatMul", "%long, %wv"}}));
}

TEST(JoinProducts, NotWhereSomethingElseReadsOne) {
  expect_unchanged({join_products()},
                   model({kQueries, kKeys, {"vp", "MatMul", "%x, %wv"}, {"v", "Add", "%vp, %vp"}}));
  Model shown = model({kQueries, kKeys, kValues});
  for (const auto& node : shown.graph->nodes()) {
    if (node->output(0)->name == "k") shown.graph->outputs.push_back(node->output(0));
  }
  expect_unchanged({join_products()}, shown);
}

}  // namespace
}  // namespace vernier

// Masks of an Attention that are known: flags, or none.
#include "passes/attention_lines.h"
#include "passes/expect_pass.h"

namespace vernier {
namespace {

constexpr int64_t kLength = 3;
const PassCase kSettle{settle_masks(), {fold_constants()}};

// For each of the entries what `value` says of a query and a key.
Tensor mask_of(ElementType type, int64_t entries,
               const std::function<double(int64_t query, int64_t key)>& value) {
  std::vector<double> values;
  for (int64_t i = 0; i < entries * kLength * kLength; ++i)
    values.push_back(value(i / kLength % kLength, i % kLength));
  return Tensor::from_doubles(type, {entries, 1, kLength, kLength}, values);
}

Model masked(const Tensor& mask, const std::string& op = "vernier::Attention", int version = 1) {
  Model model = model_of(fmt::format("%q: f32[2, 3, 8], %k: f32[2, 3, 8], %v: f32[2, 3, 8], %mask: {}[*]",
                                     element_type_short_name(mask.type())),
                         {{"y", op, "%q, %k, %v, %mask", "q_num_heads = 2, kv_num_heads = 2", version}});
  Graph& graph = *model.graph;
  graph.inputs.back()->constant = mask;
  graph.inputs.back()->type = ValueType::of(mask.type(), to_shape(mask.dims()));
  graph.inputs.pop_back();
  ops::infer_types(graph);
  return model;
}

double causal(int64_t query, int64_t key) {
  return key <= query ? 0 : -kInfinity;
}

TEST(SettleMasks, CausalOnesAreAFlag) {
  const std::string settled = R"(graph "g" (%q: f32[2, 3, 8], %k: f32[2, 3, 8], %v: f32[2, 3, 8]) -> (%y) {
    %y: f32[2, 3, 8] = vernier::Attention(%q, %k, %v) {is_causal = 1, kv_num_heads = 2, q_num_heads = 2} version 1 @"y" from ["y"]
  })";
  expect_pass(kSettle, masked(mask_of(ElementType::kFloat, 1, causal)), settled);
  expect_pass(kSettle, masked(mask_of(ElementType::kFloat, 2, causal)), settled);
  const auto lowest = [](int64_t query, int64_t key) { return key <= query ? 0 : -3e38; };
  expect_pass(kSettle, masked(mask_of(ElementType::kFloat, 1, lowest)), settled);
  const auto flags = [](int64_t query, int64_t key) { return key <= query ? 1.0 : 0.0; };
  expect_pass(kSettle, masked(mask_of(ElementType::kBool, 1, flags)), settled);
}

TEST(SettleMasks, ThoseOfNothingGo) {
  const std::string settled = R"(graph "g" (%q: f32[2, 3, 8], %k: f32[2, 3, 8], %v: f32[2, 3, 8]) -> (%y) {
    %y: f32[2, 3, 8] = vernier::Attention(%q, %k, %v) {kv_num_heads = 2, q_num_heads = 2} version 1 @"y" from ["y"]
  })";
  expect_pass(kSettle, masked(mask_of(ElementType::kFloat, 1, [](int64_t, int64_t) { return 0.0; })),
              settled);
  expect_pass(kSettle, masked(mask_of(ElementType::kBool, 1, [](int64_t, int64_t) { return 1.0; })), settled);
}

TEST(SettleMasks, OthersStay) {
  const auto expect_stays = [](const std::function<double(int64_t, int64_t)>& value,
                               ElementType type = ElementType::kFloat) {
    expect_unchanged(kSettle, masked(mask_of(type, 2, value)));
  };
  expect_stays([](int64_t query, int64_t key) { return key < query ? 0 : -kInfinity; });  // a row of nothing
  expect_stays([](int64_t query, int64_t key) { return key <= query ? 0.5 : -kInfinity; });    // a bias, too
  expect_stays([](int64_t query, int64_t key) { return key <= query ? 0.0 : -1e4; });          // a weak one
  expect_stays([](int64_t query, int64_t key) { return key <= query + 1 ? 0 : -kInfinity; });  // one ahead
  expect_stays([](int64_t query, int64_t key) { return key >= query ? 1.0 : 0.0; }, ElementType::kBool);
  Tensor second = mask_of(ElementType::kFloat, 2, causal);
  static_cast<float*>(second.mutable_raw())[kLength * kLength] = -1;  // of another entry alone
  expect_unchanged(kSettle, masked(second));
}

TEST(SettleMasks, AttentionOfOnnxStays) {
  expect_unchanged(kSettle, masked(mask_of(ElementType::kFloat, 1, causal), "Attention", 23));
}

}  // namespace
}  // namespace vernier

// Rewrites of what sorts, chooses, counts and loops: they mean the same, and hold where an engine sorts, or
// counts, otherwise.
#include "diagnose/odd_engine.h"
#include "vernier/diagnose/repairs/evaluator.h"
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ir/verify.h"

namespace vernier {
namespace {

Model model_of(const std::string& graph) {
  return OddEngine::parsed("model ir=8 opset \"\" 17 { graph \"g\" " + graph + " }");
}

Tensor ints(const Dims& dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kInt64, dims, values);
}

// Whole numbers, of which many are equal.
Tensor rounded(const Dims& dims, uint64_t seed) {
  auto values = OddEngine::noise(dims, seed).to_doubles();
  for (double& value : values) value = std::nearbyint(value);
  return Tensor::from_doubles(ElementType::kFloat, dims, values);
}

// A copy in which the rewrite has changed the node, that means the same on the inputs.
Model rewritten(const Model& model, const NamedData& inputs, bool (*rewrite)(Replacement& node),
                const std::string& node) {
  Model copy = clone(model);
  EXPECT_TRUE(rewrite_each(copy, nodes_of(copy, {node}), rewrite));
  ops::infer_types(*copy.graph);
  verify(*copy.graph);
  EXPECT_EQ(distance_in_meaning(model, copy, {{"", inputs, {}, {}}}), 0);
  return copy;
}

bool has_operator(const Model& model, const std::string& op) {
  const auto& nodes = model.graph->nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node->op == op; });
}

TEST(OrderRewrites, TopKSortsWhatHasNoTies) {
  for (const std::string attributes : {"axis = 1", "axis = 2, largest = 0"}) {
    const Model model = model_of(
        "(%x: f32[2, 6, 5]) -> (%y, %i) {\n const %k = i64[1] hex\"0300000000000000\"\n"
        "%y: f32[*], %i: i64[*] = TopK(%x, %k) {" +
        attributes + "} version 11 @\"n\" from [\"n\"]\n}");
    const NamedData inputs{{"x", rounded({2, 6, 5}, 3)}};
    const Model after = rewritten(model, inputs, write_best, "n");
    const size_t axis = attributes.starts_with("axis = 1") ? 1 : 2;
    InterpreterOptions options;
    options.revise = [&](const Node& node, std::span<const Datum* const> operands, std::vector<Datum>&) {
      if (node.op != "TopK") return;
      const auto keys = operands[0]->tensor.to_doubles();
      const size_t inner = axis == 1 ? 5 : 1, length = axis == 1 ? 6 : 5;
      for (size_t i = 0; i < keys.size(); ++i) {
        for (size_t j = i + inner; j / (inner * length) == i / (inner * length); j += inner)
          EXPECT_NE(keys[i], keys[j]);
      }
    };
    run_reference(*after.graph, inputs, options);
  }
}

TEST(OrderRewrites, SelectionIsSortedWhateverOrderItComesIn) {
  const Model model = model_of(R"((%b: f32[1, 5, 4], %s: f32[1, 2, 5]) -> (%y) {
    const %k = i64[1] hex"0300000000000000"
    const %o = f32[1] hex"0000003f"
    %y: i64[*] = NonMaxSuppression(%b, %s, %k, %o) version 11 @"n" from ["n"] })");
  Tensor scores = Tensor::from_doubles(ElementType::kFloat, {1, 2, 5},
                                       std::vector<double>{.1, .5, .5, .9, .2, .3, .3, .8, .1, .7});
  const NamedData inputs{{"b", OddEngine::noise({1, 5, 4}, 1)}, {"s", scores}};
  const Model after = rewritten(model, inputs, write_selection, "n");
  InterpreterOptions options;
  options.revise = [](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (node.op != "NonMaxSuppression") return;
    auto rows = results[0].tensor.to_ints();
    ASSERT_GT(rows.size(), 6U);
    for (size_t i = 0; i < 3; ++i) std::swap(rows[i], rows[rows.size() - 3 + i]);
    results[0].tensor = ints(results[0].tensor.dims(), rows);
  };
  const auto right = run_reference(*model.graph, inputs).outputs;
  EXPECT_TRUE(run_reference(*after.graph, inputs, options).outputs[0].tensor.identical(right[0].tensor));
  EXPECT_FALSE(run_reference(*model.graph, inputs, options).outputs[0].tensor.identical(right[0].tensor));
}

TEST(OrderRewrites, SizesAreCounted) {
  const Model model = model_of(
      "(%x: f32[N, 3, L]) -> (%y) { %y: i64[*] = Shape(%x) {start = -3} version 15 @\"n\" from [\"n\"] }");
  for (const int64_t length : {1, 7}) {
    const Model after = rewritten(model, {{"x", OddEngine::noise({2, 3, length}, 1)}}, write_shape, "n");
    EXPECT_FALSE(has_operator(after, "Shape"));
  }
}

TEST(OrderRewrites, WhereBecomesAGather) {
  const Model model = model_of(
      "(%c: bool[2, 1], %a: f32[], %b: f32[2, 3]) -> (%y) { %y: f32[*] = Where(%c, %a, %b) version 16 @\"n\" "
      "from [\"n\"] }");
  const std::vector<int64_t> truth{1, 0};
  const std::vector<double> infinite{-HUGE_VAL};
  const NamedData inputs{{"c", Tensor::from_ints(ElementType::kBool, {2, 1}, truth)},
                         {"a", Tensor::from_doubles(ElementType::kFloat, {}, infinite)},
                         {"b", OddEngine::noise({2, 3}, 1)}};
  EXPECT_FALSE(has_operator(rewritten(model, inputs, write_where, "n"), "Where"));
}

TEST(OrderRewrites, IntegersInPartsAreSmall) {
  for (const std::string node :
       {"%y: f32[*] = Cast(%x) {to = 1} version 13", "%y: i64[*] = Flatten(%x) version 13"}) {
    const Model model = model_of("(%x: i64[2, 3]) -> (%y) { " + node + " @\"n\" from [\"n\"] }");
    const NamedData inputs{{"x", ints({2, 3}, {2049, -5, 1999999, 0, -2051, 1024})}};
    const Model after = rewritten(model, inputs, split_integers, "n");
    InterpreterOptions options;
    options.revise = [](const Node& moves, std::span<const Datum* const> operands, std::vector<Datum>&) {
      if (moves.op != "Cast" && moves.op != "Flatten") return;
      for (const double value : operands[0]->tensor.to_doubles()) EXPECT_LT(std::abs(value), 2048);
    };
    run_reference(*after.graph, inputs, options);
  }
}

TEST(OrderRewrites, WhatIsInDoubleIsThereOnlyWithin) {
  Model model = OddEngine::chain();
  EXPECT_TRUE(widen_to_double(model, {"k2", "k3"}));
  ops::infer_types(*model.graph);
  verify(*model.graph);
  EXPECT_LE(
      distance_in_meaning(OddEngine::chain(), model, {{"", {{"x", OddEngine::noise({4, 8}, 1)}}, {}, {}}}),
      1e-6);
  EXPECT_EQ(find_node(model, "k3~Mul")->outputs[0]->type.tensor.element, ElementType::kDouble);
  // The product reads what the node before it has made, as it is.
  EXPECT_EQ(find_node(model, "k3~Mul")->inputs[0], find_node(model, "k2~MatMul")->outputs[0]);
  EXPECT_EQ(find_node(model, "k4")->inputs[0]->type.tensor.element, ElementType::kFloat);
}

// Rows of a table are added up, from the first on; the sums are collected.
constexpr const char* kCounting = R"((%x: f32[4, 3], %m: i64[]) -> (%last, %all) {
  const %zero = f32[3] hex"000000000000000000000000"
  %last: f32[*], %all: f32[*] = Loop(%m, _, %zero) version 16 @"n" from ["n"] regions {
    body = graph "body" (%i: i64[], %go: bool[], %v: f32[3]) -> (%go, %next, %next) {
      %row: f32[*] = Gather(%x, %i) version 13 @"gather" from ["gather"]
      %next: f32[*] = Add(%v, %row) version 14 @"add" from ["add"]
    }
  }
})";
// Doubles as long as it is below ten.
constexpr const char* kDoubling = R"((%x: f32[]) -> (%last, %all) {
  const %true = bool[] hex"01"
  const %ten = f32[] hex"00002041"
  %last: f32[*], %all: f32[*] = Loop(_, %true, %x) version 16 @"n" from ["n"] regions {
    body = graph "body" (%i: i64[], %go: bool[], %v: f32[]) -> (%more, %next, %next) {
      %next: f32[*] = Add(%v, %v) version 14 @"add" from ["add"]
      %more: bool[] = Less(%next, %ten) version 13 @"less" from ["less"]
    }
  }
})";

Model guarded(const Model& model) {
  Model copy = clone(model);
  EXPECT_TRUE(guard_trips(copy, {"n"}));
  ops::infer_types(*copy.graph);
  verify(*copy.graph);
  return copy;
}

NamedData outputs_by_name(const Model& model, const NamedData& inputs) {
  return reference_outputs(*model.graph, inputs, {});
}

TEST(GuardedTrips, HoldWhereAnEngineCountsOtherwise) {
  const Model model = model_of(kCounting), after = guarded(model);
  for (const int64_t trips : {0, 1, 4}) {
    const NamedData inputs{{"x", OddEngine::noise({4, 3}, 1)}, {"m", ints({}, {trips})}};
    const NamedData right = outputs_by_name(model, inputs);
    for (const int64_t off : {-1, 0, 1}) {
      if (trips == 0 && off != 0) continue;  // there is no trip that could be repeated
      Model engine = clone(after);
      Node* loop = find_node(engine, "n");
      Value* count = engine.graph->add_value("count", ValueType::of(ElementType::kInt64, Shape{}));
      Value* by = engine.graph->add_constant("by", ints({}, {off}));
      engine.graph->add_node(make_node("Add", 14, {loop->inputs[0], by}, count),
                             engine.graph->nodes().size() - 4);
      loop->inputs[0] = count;
      for (const auto& [name, datum] : outputs_by_name(engine, inputs))
        EXPECT_TRUE(datum.tensor.identical(right.at(name).tensor)) << name << trips << off;
    }
  }
}

TEST(GuardedTrips, HoldWhereTheConditionIsSeenTooLate) {
  const Model model = model_of(kDoubling);
  const NamedData inputs{{"x", Tensor::from_doubles(ElementType::kFloat, {}, std::vector<double>{1.5})}};
  const NamedData right = outputs_by_name(model, inputs);
  for (const int64_t trips : {3, 4, 6}) {  // three are right
    Model engine = guarded(model);
    Node* loop = find_node(engine, "n");
    loop->inputs[0] = engine.graph->add_constant("trips", ints({}, {trips}));
    loop->region("body")->outputs[0] = loop->region("body")->add_constant(
        "always", Tensor::from_ints(ElementType::kBool, {}, std::vector<int64_t>{1}));
    for (const auto& [name, datum] : outputs_by_name(engine, inputs))
      EXPECT_TRUE(datum.tensor.identical(right.at(name).tensor)) << name << trips;
  }
}

TEST(GuardedTrips, OfNothingElse) {
  Model model = OddEngine::chain();
  EXPECT_FALSE(guard_trips(model, {"k3", "nowhere"}));
}

}  // namespace
}  // namespace vernier

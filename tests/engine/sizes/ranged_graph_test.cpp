// The graph for all sizes, and what a plan for a new size takes from those before it.
#include "vernier/engine/sizes/ranged_graph.h"

#include <gmock/gmock.h>

#include "engine/as_reference.h"
#include "engine/weighted_model.h"
#include "vernier/compile/compiler.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// Heads are split by shape arithmetic, as exporters write it; a mask of the sequence's length is made by it,
// too.
Model heads() {
  return with_weights(
      R"(graph "g" (%x: f32[batch, sequence, 64], %w0: f32[64, 64], %w1: f32[64, 64]) -> (%y, %length) {
    const %zero = i64[] hex"0000000000000000"
    const %one = i64[] hex"0100000000000000"
    const %axis = i64[1] hex"0000000000000000"
    const %unit = f32[] hex"0000803f"
    const %four = i64[1] hex"0400000000000000"
    const %rest = i64[1] hex"ffffffffffffffff"
    %p: f32[*] = MatMul(%x, %w0) version 13 @"p" from ["p"]
    %r: f32[*] = Relu(%p) version 14 @"r" from ["r"]
    %shape: i64[*] = Shape(%x) version 15 @"shape" from ["shape"]
    %b: i64[*] = Gather(%shape, %zero) version 13 @"b" from ["b"]
    %s: i64[*] = Gather(%shape, %one) version 13 @"s" from ["s"]
    %b1: i64[*] = Unsqueeze(%b, %axis) version 13 @"b1" from ["b1"]
    %s1: i64[*] = Unsqueeze(%s, %axis) version 13 @"s1" from ["s1"]
    %to: i64[*] = Concat(%b1, %s1, %four, %rest) {axis = 0} version 13 @"to" from ["to"]
    %split: f32[*] = Reshape(%r, %to) version 14 @"split" from ["split"]
    %t: f32[*] = Transpose(%split) {perm = ints[0, 2, 1, 3]} version 13 @"t" from ["t"]
    %back: f32[*] = Transpose(%t) {perm = ints[0, 2, 1, 3]} version 13 @"back" from ["back"]
    %from: i64[*] = Concat(%b1, %s1, %rest) {axis = 0} version 13 @"from" from ["from"]
    %joined: f32[*] = Reshape(%back, %from) version 14 @"joined" from ["joined"]
    %ones: f32[*] = Expand(%unit, %s1) version 13 @"ones" from ["ones"]
    %sum: f32[*] = ReduceSum(%ones) {keepdims = 1} version 13 @"sum" from ["sum"]
    %q: f32[*] = MatMul(%joined, %w1) version 13 @"q" from ["q"]
    %y: f32[*] = Div(%q, %sum) version 14 @"y" from ["y"]
    %length: i64[*] = Identity(%s1) version 14 @"length" from ["length"]
  })");
}

std::vector<ValueType> sizes(int64_t batch, int64_t sequence) {
  return {ValueType::of(ElementType::kFloat, to_shape(Dims{batch, sequence, 64}))};
}

std::unique_ptr<Graph> inferred(const Model& model) {
  auto graph = clone(*model.graph);
  std::erase_if(graph->inputs, [](const Value* input) { return input->is_constant(); });
  ops::infer_types(*graph);
  return graph;
}

std::vector<std::string> ops_of(const Graph& graph) {
  std::vector<std::string> ops;
  for (const auto& node : graph.nodes()) ops.push_back(node->op);
  return ops;
}

TEST(RangedGraph, HasNoShapeArithmeticButWhatIsAnOutput) {
  const Model model = heads();
  const RangedGraph ranged(inferred(model));
  EXPECT_THAT(ops_of(ranged.graph()),
              testing::ElementsAre("MatMul", "Relu", "Reshape", "Transpose", "Transpose", "Reshape", "Expand",
                                   "ReduceSum", "MatMul", "Div", "Identity"));
}

// The copy at known sizes has the types, and the contents, that inference finds for them.
TEST(RangedGraph, IsWhatInferenceFindsAtEachSize) {
  const Model model = heads();
  const RangedGraph ranged(inferred(model));
  for (const auto& [batch, sequence] : {std::pair<int64_t, int64_t>{1, 1}, {1, 7}, {3, 128}}) {
    const auto sized = ranged.at(sizes(batch, sequence));
    ASSERT_TRUE(sized);
    const auto graph = clone(*sized->graph);
    std::map<std::string, std::string> before;
    for (const auto& value : graph->values()) before[value->name] = value->type.text();
    ops::infer_types(*graph);
    for (const auto& value : graph->values())
      EXPECT_EQ(value->type.text(), before[value->name]) << value->name;
    for (const auto& node : graph->nodes()) {
      if (node->name != "split") continue;
      EXPECT_EQ(node->input(1)->constant->to_ints(), (std::vector<int64_t>{batch, sequence, 4, -1}));
    }
  }
}

TEST(RangedGraph, RefusesSizesThatContradictEachOther) {
  Model model = parse_graph(R"(graph "g" (%x: f32[n, 4], %y: f32[n, 4], %z: f32[n + 1, 4]) -> (%s, %c) {
    %s: f32[*] = Add(%x, %y) version 14 @"s" from ["s"]
    %c: f32[*] = Relu(%z) version 14 @"c" from ["c"]
  })");
  const RangedGraph ranged(inferred(model));
  const auto of = [](int64_t rows) { return ValueType::of(ElementType::kFloat, to_shape(Dims{rows, 4})); };
  EXPECT_TRUE(ranged.at({of(2), of(2), of(3)}));
  EXPECT_FALSE(ranged.at({of(2), of(3), of(3)}));
  EXPECT_FALSE(ranged.at({of(2), of(2), of(4)}));
}

// A name of dimensions says nothing of what the model multiplies by: two columns of 4 that are taken for 4
// would be read beyond their end.
TEST(PlansOnDemand, RefuseSizesThatDoNotFitTheNodes) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, K]) -> (%y) {
    const %w = f32[4, 2] hex"0000803f000000400000004000000040000000bf0000003f0000803f00000040"
    %y: f32[*] = MatMul(%x, %w) version 13 @"y" from ["y"]
  })");
  Session session(compile(model));
  expect_as_reference(model, session, {{"x", ramp({3, 4})}});
  for (const int64_t columns : {2, 5, 0}) {
    try {
      session.run({{"x", ramp({3, columns})}});
      ADD_FAILURE() << columns << " columns were taken";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput) << error.what();
    }
  }
  expect_as_reference(model, session, {{"x", ramp({2, 4})}});
}

TEST(PlansOnDemand, ComputeWhatTheReferenceDoes) {
  const Model model = heads();
  Session session(compile(model));
  for (const auto& [batch, sequence] : {std::pair<int64_t, int64_t>{1, 5}, {2, 5}, {1, 1}, {1, 5}, {3, 33}}) {
    const NamedData data{{"x", noise({batch, sequence, 64}, 3, 1)}};
    const auto made = session.run(data);
    const auto expected = run_reference(model, data).outputs;
    EXPECT_EQ(made.at("length").as_tensor().to_ints(), std::vector<int64_t>{sequence});
    const auto actual = made.at("y").as_tensor().to_doubles(), wanted = expected[0].as_tensor().to_doubles();
    for (size_t i = 0; i < wanted.size(); ++i)
      ASSERT_NEAR(actual[i], wanted[i], 1e-5) << batch << " " << sequence;
  }
}

// A new size packs no weights, and takes the kernels whose sizes it does not change.
TEST(PlansOnDemand, PackNothingAgainAndKeepKernels) {
  const Model model =
      with_weights(R"(graph "g" (%x: f32[1, 64], %past: f32[n, 64], %w0: f32[64, 64]) -> (%all) {
    %p: f32[*] = MatMul(%x, %w0) version 13 @"p" from ["p"]
    %all: f32[*] = Concat(%past, %p) {axis = 0} version 13 @"all" from ["all"]
  })");
  const auto engine = compile(model);
  Session session(engine);
  const auto data = [](int64_t past) {
    return NamedData{{"x", noise({1, 64}, 1, 1)}, {"past", noise({past, 64}, 2, 1)}};
  };
  const auto product_of = [](const Plan& plan) -> const Kernel* {
    for (const Step& step : plan.steps) {
      if (step.node != nullptr && step.node->op != "Concat") return step.kernel.get();
    }
    return nullptr;
  };
  session.run(data(3));
  const auto packed = engine->packed().forms().size();
  const Kernel* product = product_of(*session.plan(data(3)));
  ASSERT_NE(product, nullptr);
  for (const int64_t past : {4, 5, 17}) {
    session.run(data(past));
    EXPECT_EQ(product_of(*session.plan(data(past))), product);
  }
  EXPECT_EQ(engine->packed().forms().size(), packed);
}

}  // namespace
}  // namespace vernier

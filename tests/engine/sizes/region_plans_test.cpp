// Plans of the bodies of control flow, for sizes that come again and again.
#include "vernier/engine/sizes/region_plans.h"

#include <gmock/gmock.h>

#include "engine/as_reference.h"
#include "engine/weighted_model.h"
#include "vernier/backends/installed/drivers.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/sizes/learned_sizes.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

ValueType of(Dims dims, ElementType element = ElementType::kFloat) {
  return ValueType::of(element, to_shape(dims));
}

TEST(LearnedSizes, WhatChangesIsASymbol) {
  const auto learned =
      learned_types({of({1, 5, 8}), of({6}), of({3, 5})}, {of({1, 7, 8}), of({8}), of({4, 7})});
  ASSERT_TRUE(learned);
  const auto& [x, y, z] = std::tie((*learned)[0], (*learned)[1], (*learned)[2]);
  const Shape &xs = *x.tensor.shape, &ys = *y.tensor.shape, &zs = *z.tensor.shape;
  EXPECT_EQ(xs[0], Dim(1));
  EXPECT_TRUE(xs[1].is_symbol());
  EXPECT_EQ(xs[2], Dim(8));
  EXPECT_EQ(ys[0], xs[1] + Dim(1));  // was one more both times
  EXPECT_TRUE(zs[0].is_symbol());
  EXPECT_NE(zs[0], xs[1]);
  EXPECT_EQ(zs[1], xs[1]);
}

TEST(LearnedSizes, NothingOfWhatDiffersInMoreThanSizes) {
  EXPECT_FALSE(learned_types({of({1})}, {of({1}), of({1})}));
  EXPECT_FALSE(learned_types({of({1})}, {of({1, 1})}));
  EXPECT_FALSE(learned_types({of({1})}, {of({2}, ElementType::kInt64)}));
}

// Keys and values grow by a row each trip, as those of a decoder that was exported with its loop.
constexpr const char* kGrowing =
    R"(graph "g" (%x: f32[1, 16], %trips: i64[], %keys: f32[n, 16], %w1: f32[16, 16], %w2: f32[16, 16]) -> (%y, %grown, %all) {
    const %yes = bool[] hex"01"
    %y: f32[*], %grown: f32[*], %all: f32[*] = Loop(%trips, %yes, %x, %keys) version 16 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %t: bool[], %v: f32[1, 16], %k: f32[m, 16]) -> (%t, %next, %more, %next) {
        %key: f32[*] = MatMul(%v, %w1) version 13 @"key" from ["key"]
        %more: f32[*] = Concat(%k, %key) {axis = 0} version 13 @"more" from ["more"]
        %turned: f32[*] = Transpose(%more) {perm = ints[1, 0]} version 13 @"turned" from ["turned"]
        %q: f32[*] = MatMul(%v, %w2) version 13 @"q" from ["q"]
        %s: f32[*] = MatMul(%q, %turned) version 13 @"s" from ["s"]
        %p: f32[*] = Softmax(%s) {axis = 1} version 13 @"p" from ["p"]
        %next: f32[*] = MatMul(%p, %more) version 13 @"next" from ["next"]
      }
    }
  })";

NamedData growing(int64_t rows, int64_t trips) {
  return {{"x", noise({1, 16}, 1, 1)}, {"trips", Tensor::scalar(trips)}, {"keys", noise({rows, 16}, 2, 1)}};
}

TEST(RegionPlans, ALoopInWhichSomethingGrowsComputesAsTheReference) {
  const Model model = with_weights(kGrowing);
  Session session(compile(model));
  for (const auto& [rows, trips] : {std::pair{1, 12}, {1, 12}, {5, 3}, {40, 6}, {1, 0}, {2, 1}})
    expect_as_reference(model, session, growing(rows, trips));
}

// Plans from the beginning are few, however many sizes come; and after sizes that do not hang together as
// those before, it is learned again.
TEST(RegionPlans, MakesAllButAFewPlansOfOthers) {
  const auto host = host_driver().make();
  PackedConstants packed;
  const Model model = with_weights(kGrowing);
  const auto region = close_region(*model.graph->nodes()[0]->regions[0].second);
  int made = 0;
  SizedPlans::Maker maker{
      .graph = nullptr,
      .plan =
          [&](std::shared_ptr<const Graph> graph, const PlanChoices& choices, KernelCache& cache) {
            ++made;
            return std::make_shared<const Plan>(
                make_plan(std::move(graph), *host, nullptr, packed, choices, nullptr, &cache));
          },
      .require_obedience = [](const Plan&) {},
      .backends = *host,
      .packed = packed};
  RegionPlans plans(maker, [](const Graph& source, const std::vector<ValueType>& types) {
    auto graph = clone(source);
    for (size_t i = 0; i < types.size(); ++i) graph->inputs[i]->type = types[i];
    ops::infer_types(*graph);
    return graph;
  });
  const auto plan_at = [&](int64_t rows, int64_t queries) {
    std::vector<ValueType> inputs;
    for (const Value* input : region->inputs) inputs.push_back(input->type);
    inputs[2] = of({queries, 16});
    inputs[3] = of({rows, 16});
    return plans.plan(*region, inputs, {}, false);
  };
  EXPECT_EQ(plan_at(1, 1), nullptr);  // nothing is known yet
  for (int64_t rows = 2; rows < 50; ++rows) {
    const auto plan = plan_at(rows, 1);
    ASSERT_NE(plan, nullptr) << rows;
    EXPECT_EQ(plan->slots[static_cast<size_t>(plan->outputs[2])].operand.dims, (Dims{rows + 1, 16}));
  }
  EXPECT_LE(made, 2);
  EXPECT_EQ(plan_at(8, 3), nullptr);  // the number of queries never changed
  ASSERT_NE(plan_at(8, 4), nullptr);
  EXPECT_NE(plan_at(8, 5), nullptr);
}

Tensor flag(bool value) {
  const int64_t number = value;
  return Tensor::from_ints(ElementType::kBool, {}, std::span(&number, 1));
}

// A model whose then-branch reads what has other sizes each time; what follows from sizes is in it, too, if
// so asked.
Model branching(bool reads_sizes) {
  return with_weights(
      fmt::format(R"(graph "g" (%x: f32[n, 16], %first: bool[], %w1: f32[16, 16]) -> (%y) {{
    const %one = i64[1] hex"0100000000000000"
    %r: f32[*] = Relu(%x) version 14 @"r" from ["r"]
    %sizes: i64[*] = Shape(%r) version 15 @"sizes" from ["sizes"]
    %longer: i64[*] = Add(%sizes, %one) version 14 @"longer" from ["longer"]
    %b: f32[*] = If(%first) version 16 @"if" from ["if"] regions {{
      then_branch = graph "then" () -> (%a) {{
        %a: f32[*] = MatMul(%r, %w1) version 13 @"a" from ["a"]
      }}
      else_branch = graph "else" () -> (%c) {{
        {}
      }}
    }}
    %y: f32[*] = Tanh(%b) version 13 @"y" from ["y"]
  }})",
                  reads_sizes ? R"(%ones: f32[*] = ConstantOfShape(%longer) version 9 @"ones" from ["ones"]
        %c: f32[*] = Neg(%ones) version 13 @"c" from ["c"])"
                              : R"(%c: f32[*] = Neg(%r) version 13 @"c" from ["c"])"));
}

TEST(RegionPlans, PlansWithRegionsAreResizedToo) {
  for (const bool reads_sizes : {false, true}) {
    const Model model = branching(reads_sizes);
    Session session(compile(model));
    int resized = 0;
    for (int64_t rows = 1; rows < 12; ++rows) {
      for (const bool first : {true, false}) {
        const NamedData data{{"x", noise({rows, 16}, 3, 1)}, {"first", flag(first)}};
        expect_as_reference(model, session, data);
        resized += !session.plan(data)->has_graph();
      }
    }
    EXPECT_TRUE(reads_sizes || resized > 12) << resized;
  }
}

// The plans that sessions keep of regions do not grow with the number of sizes.
TEST(RegionPlans, ProgramsOfRegionsAreShared) {
  const Model model = branching(false);
  const auto engine = compile(model);
  Session session(engine);
  std::set<const Program*> programs;
  for (int64_t rows = 1; rows < 30; ++rows) {
    const auto plan = session.plan({{"x", noise({rows, 16}, 3, 1)}, {"first", flag(true)}});
    for (const auto& [region, program] : plan->regions) programs.insert(program.get());
  }
  EXPECT_EQ(programs.size(), 2U);
}

// Regions that compute the same have programs of their own if their nodes are others: precisions are asked of
// nodes by name, and reports name them.
TEST(RegionPlans, ProgramsAreThoseOfTheirNodes) {
  const auto region = [](const char* name) {
    const Model model = parse_graph(fmt::format(R"(graph "g" (%x: f32[n, 16]) -> (%y) {{
    %y: f32[*] = Neg(%x) version 13 @"{0}" from ["{0}"]
  }})",
                                                name));
    return clone(*model.graph);
  };
  int made = 0;
  RegionPrograms programs;
  const auto host = host_driver().make();
  const auto get = [&](const char* name, uint64_t how) {
    return programs.get(region(name), how, [&](std::unique_ptr<Graph> closed) {
      ++made;
      return std::make_shared<Program>(std::move(closed), nullptr, *host);
    });
  };
  const auto first = get("first", 1);
  EXPECT_EQ(get("first", 1), first);
  EXPECT_NE(get("second", 1), first);
  EXPECT_NE(get("first", 2), first);
  EXPECT_EQ(made, 3);
}

}  // namespace
}  // namespace vernier

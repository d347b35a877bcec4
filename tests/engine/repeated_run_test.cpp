#include "vernier/exec/probing/repeated_run.h"

#include "engine/small_engine.h"
#include "vernier/compile/compiler.h"

namespace vernier {
namespace {

// Values that are read again later, one that is an output too, parts of a Concat, and a view.
TEST(RepeatedRun, EndsAlikeFromEveryStep) {
  Model model = parse_graph(R"(graph "g" (%x: f32[8, 64]) -> () {
    %a: f32[*] = Softmax(%x) {axis = -1} version 13 @"a" from ["a"]
    %b: f32[*] = Softmax(%a) {axis = 0} version 13 @"b" from ["b"]
    %c: f32[*] = Softmax(%b) {axis = -1} version 13 @"c" from ["c"]
    %e: f32[*] = Softmax(%a) {axis = 0} version 13 @"e" from ["e"]
    %f: f32[*] = Concat(%c, %e, %b) {axis = 1} version 13 @"f" from ["f"]
    %v: f32[*] = Flatten(%e) {axis = 0} version 13 @"v" from ["v"]
  })");
  Graph& graph = *model.graph;
  const auto made_by = [&](size_t node) { return graph.nodes()[node]->output(0); };
  Node* product =
      append(graph, "MatMul", 13, {made_by(4), graph.add_constant("m", noise({192, 64}, 1))}, "p");
  graph.outputs = {made_by(0), product->output(0), made_by(5)};
  Compiler compiler(model, untuned());
  compiler.prepare({ValueType::of(ElementType::kFloat, to_shape(Dims{8, 64}))});
  const auto engine = compiler.engine();
  const auto plan = engine->prepared()[0].plan;
  ASSERT_TRUE(RepeatedRun::serves(*plan));
  ASSERT_GE(plan->steps.size(), 5U);

  const std::vector<Datum> inputs{noise({8, 64}, 7)};
  DynamicShapeExecutor nodes(engine->kernels());
  SessionMemory arena, other_arena;
  Execution once(plan, nodes, other_arena), parts(plan, nodes, arena);
  std::vector<Datum> expected;
  once.run(inputs, expected);
  RepeatedRun run(parts, inputs);
  for (;; run.advance()) {
    for (int time = 0; time < 2; ++time) {
      const auto& outputs = run.run_rest();
      ASSERT_EQ(outputs.size(), expected.size());
      for (size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(outputs[i].tensor.identical(expected[i].tensor))
            << "step " << run.step() << " output " << i;
    }
    if (run.step() == plan->steps.size()) break;
  }
}

TEST(RepeatedRun, ServesNoPlanWithStepsThatMakeTheirOwnMemory) {
  Compiler compiler(parse_graph(R"(graph "g" (%x: f32[8]) -> (%y) {
    %y: i64[*] = NonZero(%x) version 13 @"n" from ["n"]
  })"),
                    untuned());
  compiler.prepare({ValueType::of(ElementType::kFloat, to_shape(Dims{8}))});
  const auto engine = compiler.engine();
  EXPECT_FALSE(RepeatedRun::serves(*engine->prepared()[0].plan));
}

}  // namespace
}  // namespace vernier

// Loops, branches and sizes that only running tells, in engines: as the reference, whatever comes.
#include "engine/as_reference.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/compile/compiler.h"
#include "vernier/exec/dynamic_shape_executor.h"

namespace vernier {
namespace {

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(ElementType::kFloat, std::move(dims), values);
}

TEST(ControlFlow, CarriedSizesMayGrow) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 3], %trips: i64[]) -> (%y, %lengths) {
    const %yes = bool[] hex"01"
    %y: f32[*], %lengths: i64[*] = Loop(%trips, %yes, %x) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %c: bool[], %rows: f32[*]) -> (%c, %longer, %length) {
        %length: i64[*] = Shape(%rows) version 24 @"s" from ["s"]
        %negative: f32[*] = Neg(%rows) version 13 @"n" from ["n"]
        %longer: f32[*] = Concat(%negative, %x) {axis = 0} version 13 @"l" from ["l"]
      }
    }
  })");
  Session session(compile(model));
  for (const auto& [rows, trips] : {std::pair{2, 4}, {2, 0}, {1, 7}, {0, 3}, {2, 4}})
    expect_as_reference(model, session, {{"x", ramp({rows, 3})}, {"trips", Tensor::scalar(trips)}});
}

TEST(ControlFlow, ALoopMayPassOnWhatItWasGiven) {
  // Results of the Loop are no views of its inputs, which the caller may write again.
  const Model model = parse_graph(R"(graph "g" (%x: f32[4], %trips: i64[]) -> (%kept, %views) {
    const %yes = bool[] hex"01"
    const %column = i64[2] hex"04000000000000000100000000000000"
    %kept: f32[*], %views: f32[*] = Loop(%trips, %yes, %x) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %c: bool[], %v: f32[*]) -> (%c, %v, %view) {
        %view: f32[*] = Reshape(%v, %column) version 24 @"r" from ["r"]
      }
    }
  })");
  Session session(compile(model));
  Tensor x = ramp({4});
  for (const int64_t trips : {2, 0, 1}) {
    const auto made = session.run({{"x", x}, {"trips", Tensor::scalar(trips)}});
    const auto expected = run_reference(model, {{"x", x}, {"trips", Tensor::scalar(trips)}}).outputs;
    const Tensor before = ramp({4});
    EXPECT_NE(made.at("kept").tensor.raw(), x.raw());
    expect_close(Datum(before), made.at("kept"));
    expect_close(expected[1], made.at("views"));
  }
}

TEST(ControlFlow, RowsOfASequenceAreMultipliedAtOnce) {
  const Model model =
      parse_graph(R"(graph "g" (%x: f32[T, 4, 2], %s: f32[4, 2], %trips: i64[]) -> (%y, %all) {
    const %yes = bool[] hex"01"
    const %w = f32[2, 2] hex"0000803f000000400000004000000040"
    const %u = f32[2, 2] hex"0000003f000000be0000003e0000003f"
    %y: f32[*], %kept: f32[*], %all: f32[*] = Loop(%trips, %yes, %s, %w) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %c: bool[], %state: f32[*], %weights: f32[*]) -> (%c, %next, %weights, %next) {
        %row: f32[*] = Gather(%x, %i) version 13 @"row" from ["row"]
        %p: f32[*] = MatMul(%row, %weights) version 13 @"p" from ["p"]
        %q: f32[*] = MatMul(%state, %u) version 13 @"q" from ["q"]
        %sum: f32[*] = Add(%p, %q) version 14 @"sum" from ["sum"]
        %next: f32[*] = Tanh(%sum) version 13 @"next" from ["next"]
      }
    }
  })");
  const auto engine = compile(model);
  std::set<std::string> fired;
  for (const PassRecord& record : engine->passes()) fired.insert(record.name);
  EXPECT_TRUE(fired.contains("hoist-loop-invariants"));
  EXPECT_TRUE(fired.contains("batch-loop-products"));
  Session session(engine);
  for (const auto& [steps, trips] : {std::pair{6, 6}, {6, 2}, {3, 0}, {0, 0}, {6, 6}})
    expect_as_reference(model, session,
                        {{"x", ramp({steps, 4, 2})}, {"s", ramp({4, 2})}, {"trips", Tensor::scalar(trips)}});
}

TEST(ControlFlow, LoopsInBranchesOfDifferentSizes) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N], %b: bool[]) -> (%z) {
    const %yes = bool[] hex"01"
    const %two = i64[] hex"0200000000000000"
    %y: f32[*] = If(%b) version 24 @"if" from ["if"] regions {
      then_branch = graph "then" () -> (%long) {
        %long: f32[*] = Loop(%two, %yes, %x) version 24 @"outer" from ["outer"] regions {
          body = graph "body" (%i: i64[], %c: bool[], %v: f32[*]) -> (%c, %w) {
            %w: f32[*] = Loop(%i, %c, %v) version 24 @"inner" from ["inner"] regions {
              body = graph "innermost" (%j: i64[], %d: bool[], %t: f32[*]) -> (%d, %u) {
                %u: f32[*] = Concat(%t, %x) {axis = 0} version 13 @"u" from ["u"]
              }
            }
          }
        }
      }
      else_branch = graph "else" () -> (%short) {
        %short: f32[*] = ReduceMax(%x) {keepdims = 1} version 18 @"m" from ["m"]
      }
    }
    %z: f32[*] = Exp(%y) version 13 @"z" from ["z"]
  })");
  Session session(compile(model));
  for (const bool branch : {true, false, true}) {
    const auto condition = Tensor::from<bool>(ElementType::kBool, {}, {branch});
    expect_as_reference(model, session, {{"x", ramp({5})}, {"b", condition}});
  }
}

TEST(ControlFlow, ProductsOfRowsThatAreNotZero) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[N, 2], %mask: f32[N]) -> (%y) {
    const %flat = i64[1] hex"ffffffffffffffff"
    const %w = f32[2, 3] hex"0000803f0000004000004040000080400000a0400000c040"
    %where: i64[*] = NonZero(%mask) version 13 @"n" from ["n"]
    %rows: i64[*] = Reshape(%where, %flat) version 24 @"r" from ["r"]
    %taken: f32[*] = Gather(%x, %rows) version 13 @"g" from ["g"]
    %p: f32[*] = MatMul(%taken, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 14 @"y" from ["y"]
  })");
  Session session(compile(model));
  for (const auto& mask : {std::vector<float>{1, 0, 2, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 2, 1}})
    expect_as_reference(model, session, {{"x", ramp({4, 2})}, {"mask", floats({4}, mask)}});
}

TEST(ControlFlow, BoxesThatAreLeftByNonMaxSuppression) {
  const Model model =
      parse_graph(R"(graph "g" (%boxes: f32[1, 3, 4], %scores: f32[1, 1, 3], %least: f32[1]) -> (%y) {
    const %most = i64[1] hex"0300000000000000"
    const %overlap = f32[1] hex"0000003f"
    const %column = i64[] hex"0200000000000000"
    %kept: i64[*] = NonMaxSuppression(%boxes, %scores, %most, %overlap, %least) version 11 @"nms" from ["nms"]
    %rows: i64[*] = Gather(%kept, %column) {axis = 1} version 13 @"r" from ["r"]
    %y: f32[*] = Gather(%boxes, %rows) {axis = 1} version 13 @"y" from ["y"]
  })");
  Session session(compile(model));
  const auto boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 2, 2, 3, 3});
  for (const float least : {0.0F, 0.5F, 0.95F, 0.0F})
    expect_as_reference(model, session,
                        {{"boxes", boxes},
                         {"scores", floats({1, 1, 3}, {0.9F, 0.8F, 0.4F})},
                         {"least", floats({1}, {least})}});
}

TEST(ControlFlow, SizesThatFollowFromContents) {
  // The same sizes, other contents: what was made for the last ones does not serve.
  const Model model = parse_graph(R"(graph "g" (%x: f32[6], %n: i64[], %to: i64[2]) -> (%y, %z) {
    const %zero = i64[] hex"0000000000000000"
    const %one = i64[] hex"0100000000000000"
    %y: i64[*] = Range(%zero, %n, %one) version 11 @"y" from ["y"]
    %r: f32[*] = Reshape(%x, %to) version 24 @"r" from ["r"]
    %z: f32[*] = Softmax(%r) {axis = 1} version 13 @"z" from ["z"]
  })");
  Session session(compile(model));
  for (const int64_t n : {3, 5, 0, 3}) {
    const int64_t rows = n == 5 ? 2 : 3;
    expect_as_reference(model, session,
                        {{"x", ramp({6})},
                         {"n", Tensor::scalar(n)},
                         {"to", Tensor::from<int64_t>(ElementType::kInt64, {2}, {rows, -1})}});
  }
}

TEST(ControlFlow, AnErrorInABodyNamesTheNode) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4], %trips: i64[]) -> (%y) {
    const %yes = bool[] hex"01"
    %y: f32[*] = Loop(%trips, %yes) version 24 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %c: bool[]) -> (%c, %row) {
        %row: f32[*] = Gather(%x, %i) version 13 @"beyond" from ["beyond"]
      }
    }
  })");
  Session session(compile(model));
  expect_as_reference(model, session, {{"x", ramp({4})}, {"trips", Tensor::scalar(4)}});
  try {
    session.run({{"x", ramp({4})}, {"trips", Tensor::scalar(5)}});
    FAIL() << "row 4 of 4";
  } catch (const Error& error) {
    EXPECT_EQ(error.node(), "beyond");
  }
  expect_as_reference(model, session, {{"x", ramp({4})}, {"trips", Tensor::scalar(2)}});
}

TEST(DynamicShapeExecutor, ForgetsWhatCameTooOften) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[*]) -> (%y) {
    %y: f32[*] = Neg(%x) version 13 @"y" from ["y"]
  })");
  const cpu::CpuBackend kernels;
  PackedConstants packed;
  const Plan plan = make_plan(clone(*model.graph), kernels, nullptr, packed);
  ASSERT_EQ(plan.steps.size(), 1U);
  DynamicShapeExecutor runner(kernels);
  for (int64_t size = 0; size < static_cast<int64_t>(DynamicShapeExecutor::kMaxKept) + 10; ++size) {
    const Datum x = ramp({size % 7, size});
    const auto y = runner.run(plan, plan.steps[0], {&x}, {});
    ASSERT_EQ(y[0].tensor.dims(), x.tensor.dims());
    ASSERT_LE(runner.kept_count(), DynamicShapeExecutor::kMaxKept);
  }
  EXPECT_LT(runner.kept_count(), 20U);
}

}  // namespace
}  // namespace vernier

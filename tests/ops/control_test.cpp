// Control flow: what the conformance cases leave out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

using Inputs = std::map<std::string, Datum>;

// A model of opset 17 around one main graph, with inferred types.
Model model_of(const std::string& graph) {
  Model model = parse_model("model ir=8 opset \"\" 17 {\n" + graph + "\n}\n");
  ops::infer_types(*model.graph);
  return model;
}

Tensor floats(Dims dims, const std::vector<float>& values) {
  return Tensor::from<float>(ElementType::kFloat, std::move(dims), values);
}
Tensor flag(bool value) {
  return Tensor::from<bool>(ElementType::kBool, {}, {value});
}

std::vector<double> values_of(const Datum& datum) {
  return datum.as_tensor().to_doubles();
}

using testing::ElementsAre;

const std::string kSumLoop = R"(graph "main" (%m: i64[], %x: f32[N]) -> (%sum, %steps) {
  %sum: f32[*], %steps: f32[*] = Loop(%m, _, %x) version 17 @"loop" from ["loop"] regions {
    body = graph "body" (%i: i64[], %go: bool[], %v: f32[N]) -> (%go, %next, %next) {
      %next: f32[*] = Add(%v, %x) version 17 @"add" from ["add"]
    }
  }
})";

TEST(Loop, GivesCarriedValuesAndScanOutputs) {
  const Model model = model_of(kSumLoop);
  EXPECT_EQ(model.graph->outputs[0]->type.text(), "f32[N]");
  const auto outputs = run_reference(model, {{"m", Tensor::scalar(3)}, {"x", floats({2}, {1, 10})}}).outputs;
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(4, 40));
  EXPECT_EQ(outputs[1].as_tensor().dims(), (Dims{3, 2}));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(2, 20, 3, 30, 4, 40));
}

TEST(Loop, WithoutTripsKeepsValuesAndMakesEmptyScans) {
  for (const int64_t trips : {0, -1}) {
    const auto outputs =
        run_reference(model_of(kSumLoop), {{"m", Tensor::scalar(trips)}, {"x", floats({2}, {1, 10})}})
            .outputs;
    EXPECT_THAT(values_of(outputs[0]), ElementsAre(1, 10));
    EXPECT_EQ(outputs[1].as_tensor().dims(), (Dims{0, 2}));
  }
}

TEST(Loop, IdealModeKeepsDoubles) {
  for (const int64_t trips : {0, 2}) {
    InterpreterOptions ideal;
    ideal.mode = ReferenceMode::kIdeal;
    const auto outputs =
        run_reference(model_of(kSumLoop), {{"m", Tensor::scalar(trips)}, {"x", floats({1}, {1})}}, ideal)
            .outputs;
    EXPECT_EQ(outputs[0].as_tensor().type(), ElementType::kDouble);
    EXPECT_EQ(outputs[1].as_tensor().type(), ElementType::kDouble);
  }
}

TEST(Loop, CountsWhileItsConditionHolds) {
  const Model model =
      model_of(R"(graph "main" (%start: f32[], %limit: f32[], %first: bool[]) -> (%last, %all) {
    %last: f32[*], %all: f32[*] = Loop(_, %first, %start) version 17 @"while" from ["while"] regions {
      body = graph "body" (%i: i64[], %go: bool[], %v: f32[]) -> (%more, %next, %v) {
        %next: f32[*] = Add(%v, %v) version 17 @"double" from ["double"]
        %more: bool[] = Less(%next, %limit) version 17 @"less" from ["less"]
      }
    }
  })");
  Inputs inputs = {{"start", floats({}, {1})}, {"limit", floats({}, {10})}, {"first", flag(true)}};
  auto outputs = run_reference(model, inputs).outputs;
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(16));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(1, 2, 4, 8));
  inputs["first"] = flag(false);
  outputs = run_reference(model, inputs).outputs;
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(1));
  EXPECT_EQ(outputs[1].as_tensor().dims(), (Dims{0}));
}

TEST(Loop, InfersThatACarriedSizeChanges) {
  const Model model = model_of(R"(graph "main" (%m: i64[], %x: f32[N, 2]) -> (%y) {
    %y: f32[*] = Loop(%m, _, %x) version 17 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %go: bool[], %v: f32[*]) -> (%go, %w) {
        %pair: seq(f32[*]) = SequenceConstruct(%v, %v) version 17 @"pair" from ["pair"]
        %w: f32[*] = ConcatFromSequence(%pair) {axis = 0} version 17 @"concat" from ["concat"]
      }
    }
  })");
  const ValueType& type = model.graph->outputs[0]->type;
  ASSERT_TRUE(type.tensor.shape && type.tensor.shape->size() == 2) << type.text();
  EXPECT_TRUE((*type.tensor.shape)[0].has_fresh()) << type.text();
  EXPECT_EQ((*type.tensor.shape)[1], Dim(2)) << type.text();
  const auto outputs =
      run_reference(model, {{"m", Tensor::scalar(3)}, {"x", floats({1, 2}, {1, 2})}}).outputs;
  EXPECT_EQ(outputs[0].as_tensor().dims(), (Dims{8, 2}));
}

TEST(Loop, KnowsTheLengthOfItsScanOutputs) {
  const Model model = model_of(R"(graph "main" (%x: f32[N]) -> (%all) {
    const %m = i64[] hex"0500000000000000"
    const %yes = bool[] hex"01"
    _, %all: f32[*] = Loop(%m, %yes, %x) version 17 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %go: bool[], %v: f32[N]) -> (%go, %v, %w) {
        %w: f32[*] = Add(%v, %v) version 17 @"add" from ["add"]
      }
    }
  })");
  EXPECT_EQ(model.graph->outputs[0]->type.text(), "f32[5, N]");
}

TEST(Loop, RefusesToRunForEver) {
  const Model model = model_of(R"(graph "main" (%x: f32[]) -> (%y) {
    %y: f32[*] = Loop(_, _, %x) version 17 @"endless" from ["endless"] regions {
      body = graph "body" (%i: i64[], %go: bool[], %v: f32[]) -> (%go, %v) {
      }
    }
  })");
  EXPECT_THROW(run_reference(model, {{"x", floats({}, {1})}}), Error);
}

TEST(Loop, ErrorInTheBodyNamesItsNode) {
  const Model model = model_of(R"(graph "main" (%m: i64[], %x: f32[N], %y: f32[M]) -> (%z) {
    %z: f32[*] = Loop(%m, _, %x) version 17 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %go: bool[], %v: f32[*]) -> (%go, %w) {
        %w: f32[*] = Add(%v, %y) version 17 @"culprit" from ["culprit"]
      }
    }
  })");
  try {
    run_reference(model,
                  {{"m", Tensor::scalar(1)}, {"x", floats({2}, {1, 2})}, {"y", floats({3}, {1, 2, 3})}});
    ADD_FAILURE() << "shapes that do not broadcast were added";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_EQ(error.node(), "culprit");
  }
}

const std::string kIf = R"(graph "main" (%c: bool[], %x: f32[N, 2], %y: f32[M, 2]) -> (%z) {
  %z: f32[*] = If(%c) version 17 @"if" from ["if"] regions {
    then_branch = graph "then" () -> (%a) {
      %a: f32[*] = Add(%x, %x) version 17 @"a" from ["a"]
    }
    else_branch = graph "else" () -> (%y) {
    }
  }
})";

TEST(If, BranchesMayDifferInShape) {
  const Model model = model_of(kIf);
  const auto& shape = model.graph->outputs[0]->type.tensor.shape;
  ASSERT_TRUE(shape && shape->size() == 2);
  EXPECT_TRUE((*shape)[0].has_fresh());
  EXPECT_EQ((*shape)[1], Dim(2));
  Inputs inputs = {{"c", flag(true)}, {"x", floats({1, 2}, {1, 2})}, {"y", floats({2, 2}, {5, 6, 7, 8})}};
  EXPECT_THAT(values_of(run_reference(model, inputs).outputs[0]), ElementsAre(2, 4));
  inputs["c"] = flag(false);
  EXPECT_THAT(values_of(run_reference(model, inputs).outputs[0]), ElementsAre(5, 6, 7, 8));
}

TEST(If, KnownConditionDecidesTheType) {
  std::string text = kIf;
  text.replace(text.find("%c: bool[], "), 12, "");
  text.replace(text.find("{") + 1, 0, "\n  const %c = bool[] hex\"01\"");
  EXPECT_EQ(model_of(text).graph->outputs[0]->type.text(), "f32[N, 2]");
}

TEST(If, ReadsValuesOfGraphsTwoLevelsAround) {
  const Model model = model_of(R"(graph "main" (%m: i64[], %c: bool[], %x: f32[]) -> (%z) {
    %outer: f32[*] = Add(%x, %x) version 17 @"outer" from ["outer"]
    %z: f32[*] = Loop(%m, _, %x) version 17 @"loop" from ["loop"] regions {
      body = graph "body" (%i: i64[], %go: bool[], %v: f32[]) -> (%go, %w) {
        %w: f32[*] = If(%c) version 17 @"if" from ["if"] regions {
          then_branch = graph "then" () -> (%t) {
            %t: f32[*] = Add(%v, %outer) version 17 @"inner" from ["inner"]
          }
          else_branch = graph "else" () -> (%outer) {
          }
        }
      }
    }
  })");
  Inputs inputs = {{"m", Tensor::scalar(3)}, {"c", flag(true)}, {"x", floats({}, {1})}};
  EXPECT_THAT(values_of(run_reference(model, inputs).outputs[0]), ElementsAre(7));
  inputs["c"] = flag(false);
  EXPECT_THAT(values_of(run_reference(model, inputs).outputs[0]), ElementsAre(2));
}

TEST(Scan, WalksBackwardsAndAlongOtherAxes) {
  const Model model = model_of(R"(graph "main" (%s: f32[2], %x: f32[2, T]) -> (%last, %all) {
    %last: f32[*], %all: f32[*] = Scan(%s, %x) {num_scan_inputs = 1, scan_input_axes = ints[1], scan_input_directions = ints[1], scan_output_axes = ints[-1], scan_output_directions = ints[1]} version 17 @"scan" from ["scan"] regions {
      body = graph "body" (%v: f32[2], %e: f32[2]) -> (%sum, %sum) {
        %sum: f32[*] = Add(%v, %e) version 17 @"add" from ["add"]
      }
    }
  })");
  EXPECT_EQ(model.graph->outputs[1]->type.text(), "f32[2, T]");
  auto outputs =
      run_reference(model, {{"s", floats({2}, {0, 0})}, {"x", floats({2, 3}, {1, 2, 3, 10, 20, 30})}})
          .outputs;
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(6, 60));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(6, 5, 3, 60, 50, 30));
  outputs = run_reference(model, {{"s", floats({2}, {7, 8})}, {"x", floats({2, 0}, {})}}).outputs;
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(7, 8));
  EXPECT_EQ(outputs[1].as_tensor().dims(), (Dims{2, 0}));
}

TEST(Scan, Opset8HasABatchOfLengths) {
  const Model model =
      model_of(R"(graph "main" (%n: i64[2], %s: f32[2, 1], %x: f32[2, T, 1]) -> (%last, %all) {
    %last: f32[*], %all: f32[*] = Scan(%n, %s, %x) {num_scan_inputs = 1, directions = ints[1]} version 8 @"scan" from ["scan"] regions {
      body = graph "body" (%v: f32[1], %e: f32[1]) -> (%sum, %sum) {
        %sum: f32[*] = Add(%v, %e) version 8 @"add" from ["add"]
      }
    }
  })");
  EXPECT_EQ(model.graph->outputs[1]->type.text(), "f32[2, T, 1]");
  const Tensor lengths = Tensor::from<int64_t>(ElementType::kInt64, {2}, {3, 1});
  const auto outputs = run_reference(model, {{"n", lengths},
                                             {"s", floats({2, 1}, {0, 100})},
                                             {"x", floats({2, 3, 1}, {1, 2, 3, 4, 5, 6})}})
                           .outputs;
  EXPECT_THAT(values_of(outputs[0]), ElementsAre(6, 104));
  EXPECT_THAT(values_of(outputs[1]), ElementsAre(3, 5, 6, 104, 0, 0));
}

TEST(Sequence, ElementsOfUnequalSizesStayApartInInference) {
  const Model model = model_of(R"(graph "main" (%x: f32[2], %y: f32[3], %i: i64[], %j: i64[]) -> (%a, %b) {
    %s: seq(f32[*]) = SequenceConstruct(%x, %y) version 17 @"s" from ["s"]
    %a: f32[*] = SequenceAt(%s, %i) version 17 @"a" from ["a"]
    %b: f32[*] = SequenceAt(%s, %j) version 17 @"b" from ["b"]
  })");
  EXPECT_NE(model.graph->outputs[0]->type, model.graph->outputs[1]->type);
  const Inputs inputs = {{"x", floats({2}, {1, 2})},
                         {"y", floats({3}, {3, 4, 5})},
                         {"i", Tensor::scalar(0)},
                         {"j", Tensor::scalar(-1)}};
  EXPECT_THAT(values_of(run_reference(model, inputs).outputs[1]), ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace vernier

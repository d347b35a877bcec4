// Nodes that a model declares as other floats than a user asks for.
#include "vernier/precision/asked/retype_nodes.h"

#include "passes/expect_pass.h"
#include "precision/typed_models.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

using By = LayerPrecision::By;
constexpr auto f32 = ElementType::kFloat, f16 = ElementType::kFloat16, bf16 = ElementType::kBFloat16,
               f64 = ElementType::kDouble;

PrecisionOptions asked(const std::string& layers, const std::string& outputs = "") {
  PrecisionOptions options;
  options.layers = parse_layer_types(layers);
  options.outputs = parse_layer_types(outputs);
  return options;
}

int retype(Model& model, const PrecisionOptions& options) {
  const AskedTypes types(options, *model.graph);
  return rewrite(model, {retype_nodes(types, 13), remove_dead_code()})["retype-nodes"];
}

void expect_retyped(const std::string& before, const std::string& layers, const std::string& after,
                    int line = __builtin_LINE()) {
  const testing::ScopedTrace trace(__FILE__, line, layers);
  const Model given = parse(before);
  Model made = clone(given);
  EXPECT_GT(retype(made, asked(layers)), 0);
  EXPECT_EQ(without_indentation(after), normal_form(*made.graph));
  expect_sound(*given.graph, *made.graph);
}

// A square that overflows in f16, its root, and a product that stays narrow.
const char* const kSquares = R"(graph "g" (%x: f16[4]) -> (%y) {
  const %two = f16[] hex"0040"
  %s: f16[*] = Pow(%x, %two) version 13 @"square" from ["square"]
  %r: f16[*] = Sqrt(%s) version 13 @"root" from ["root"]
  %y: f16[*] = Mul(%r, %x) version 13 @"product" from ["product"]
})";

TEST(RetypeNodes, OperandsAreWidenedAndResultsNarrowedWhereTheyMustBe) {
  expect_retyped(kSquares, "square:fp32,root:fp32", R"(graph "g" (%x: f16[4]) -> (%y) {
  const %two/f32 = f32[] hex"00000040"
  %x/f32: f32[4] = Cast(%x) {to = 1} version 13 @"x/f32/cast" from ["square"]
  %s: f32[4] = Pow(%x/f32, %two/f32) version 13 @"square" from ["square"]
  %r: f32[4] = Sqrt(%s) version 13 @"root" from ["root"]
  %r/f16: f16[4] = Cast(%r) {to = 10} version 13 @"r/f16/cast" from ["root"]
  %y: f16[4] = Mul(%r/f16, %x) version 13 @"product" from ["product"]
}
)");
}

TEST(RetypeNodes, WhatLiesBetweenWidenedNodesIsNotRounded) {
  const Model before = parse(kSquares);
  const NamedData data{{"x", Tensor::from_doubles(f16, {4}, std::vector<double>{300.0, -500.0, 1.0, 0.5})}};
  const auto run = [&](const Model& model) { return run_reference(model, data, {}).outputs[0].tensor; };
  EXPECT_TRUE(std::isinf(run(before).to_doubles()[0]));
  Model both = clone(before), one = clone(before);
  retype(both, asked("square:fp32,root:fp32"));
  EXPECT_EQ(run(both).to_doubles()[2], 1.0);
  EXPECT_TRUE(std::isinf(run(both).to_doubles()[0]));  // 300 * 300, in the product that stays narrow
  retype(one, asked("square:fp32,product:fp32"));      // the root reads what is narrowed for it
  EXPECT_TRUE(std::isinf(run(one).to_doubles()[0]));
  const TypedModel typed = typed_model(before, asked("*:fp32"));
  EXPECT_EQ(types(*typed.model.graph), "Cast:f32 Pow:f32 Sqrt:f32 Mul:f32 Cast:f16");
  EXPECT_EQ(typed.casts, 2);
}

TEST(RetypeNodes, OutputsOfTheModelKeepNameAndType) {
  expect_retyped(R"(graph "g" (%x: f16[4]) -> (%y) {
    %y: f16[*] = Neg(%x) version 13 @"neg" from ["neg"]
  })",
                 "neg:fp32", R"(graph "g" (%x: f16[4]) -> (%y) {
  %x/f32: f32[4] = Cast(%x) {to = 1} version 13 @"x/f32/cast" from ["neg"]
  %y/f32: f32[4] = Neg(%x/f32) version 13 @"neg" from ["neg"]
  %y: f16[4] = Cast(%y/f32) {to = 10} version 13 @"y/cast" from ["neg"]
}
)");
}

// A Cast reads what it is given as it is; one that is asked for states the other type.
TEST(RetypeNodes, CastsReadTheWideValue) {
  const char* text = R"(graph "g" (%x: f32[4]) -> (%y) {
    %h: f16[*] = Cast(%x) {to = 10} version 13 @"in" from ["in"]
    %n: f16[*] = Neg(%h) version 13 @"neg" from ["neg"]
    %y: f32[*] = Cast(%n) {to = 1} version 13 @"out" from ["out"]
  })";
  Model model = parse(text);
  retype(model, asked("neg:fp32"));
  EXPECT_EQ(types(*model.graph), "Cast:f16 Cast:f32 Neg:f32 Cast:f32");
  Model whole = parse(text);
  retype(whole, asked("*:fp32"));
  EXPECT_EQ(types(*whole.graph), "Cast:f32 Neg:f32 Cast:f32");
}

TEST(RetypeNodes, WhatOnlyMovesBetweenTwoOfThemFollows) {
  const char* text = R"(graph "g" (%x: f16[2, 3]) -> (%y) {
    %s: f16[*] = Mul(%x, %x) version 13 @"square" from ["square"]
    %t: f16[*] = Transpose(%s) version 13 @"turn" from ["turn"]
    %y: f16[*] = Sqrt(%t) version 13 @"root" from ["root"]
  })";
  const TypedModel typed = typed_model(parse(text), asked("square:fp32,root:fp32"));
  EXPECT_EQ(types(*typed.model.graph), "Cast:f32 Mul:f32 Transpose:f32 Sqrt:f32 Cast:f16");
  EXPECT_EQ(typed.plan.layers.at("turn").store, f32);
  EXPECT_EQ(typed.plan.layers.at("turn").by, By::kRule);
  // Not where the user says otherwise.
  const TypedModel told = typed_model(parse(text), asked("*:fp16,square:fp32,root:fp32"));
  EXPECT_EQ(types(*told.model.graph), "Cast:f32 Mul:f32 Cast:f16 Transpose:f16 Cast:f32 Sqrt:f32 Cast:f16");
}

TEST(RetypeNodes, StatedTypesAndConstantsAreWhatTheyWereInF32) {
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f16[2], %n: i64[1]) -> (%y) {
    const %w = f16[2] hex"662eae47"
    %c: f16[*] = ConstantOfShape(%n) {value = tensor f16[1] hex"662e"} version 9 @"fill" from ["fill"]
    %a: f16[*] = Add(%x, %w) version 13 @"add" from ["add"]
    %y: f16[*] = Sub(%a, %c) version 13 @"sub" from ["sub"]
  })"),
                                       asked("*:fp32"));
  EXPECT_EQ(types(*typed.model.graph), "Cast:f32 ConstantOfShape:f32 Add:f32 Sub:f32 Cast:f16");
  for (const auto& value : typed.model.graph->values()) {
    if (!value->is_constant()) continue;
    EXPECT_EQ(value->constant->type(), f32);
    EXPECT_EQ(value->constant->to_doubles()[0],
              Tensor::from_doubles(f16, {}, std::vector<double>{0.1}).to_doubles()[0]);
  }
}

TEST(RetypeNodes, NodesInRegionsAndWhatTheyReadFromAround) {
  const char* text = R"(graph "g" (%x: f16[2], %c: bool[]) -> (%y) {
    %s: f16[*] = Mul(%x, %x) version 13 @"square" from ["square"]
    %y: f16[*] = If(%c) version 17 @"if" from ["if"] regions {
      then_branch = graph "t" () -> (%t) {
        %t: f16[*] = Sqrt(%s) version 13 @"root" from ["root"]
      }
      else_branch = graph "e" () -> (%e) {
        %e: f16[*] = Neg(%s) version 13 @"neg" from ["neg"]
      }
    }
  })";
  const Model before = parse(text);
  Model after = clone(before);
  EXPECT_EQ(retype(after, asked("square:fp32,root:fp32")), 2);
  const Node& branch = *after.graph->nodes().back();
  EXPECT_EQ(types(*branch.region("then_branch")), "Sqrt:f32 Cast:f16");
  EXPECT_EQ(branch.region("then_branch")->nodes()[0]->input(0)->type.tensor.element, f32);
  EXPECT_EQ(types(*branch.region("else_branch")), "Neg:f16");
  const NamedData data{{"x", Tensor::from_doubles(f16, {2}, std::vector<double>{300.0, 2.0})},
                       {"c", Tensor::from_ints(ElementType::kBool, {}, std::vector<int64_t>{1})}};
  EXPECT_EQ(run_reference(after, data, {}).outputs[0].tensor.to_doubles()[0], 300.0);
  EXPECT_TRUE(std::isinf(run_reference(before, data, {}).outputs[0].tensor.to_doubles()[0]));
}

// Each branch reads a value from around it that no other node reads wide, so each puts a Cast there.
TEST(RetypeNodes, CastsAroundBranchesDoNotDisturbTheWalk) {
  constexpr int kBranches = 9;
  std::string text = "graph \"g\" (%x: f16[2], %c: bool[]) -> (%y8) {\n";
  for (int i = 0; i < kBranches; ++i) {
    const std::string read = i == 0 ? "x" : fmt::format("y{}", i - 1);
    text += fmt::format(
        "%s{0}: f16[*] = Abs(%{1}) version 13 @\"abs{0}\" from [\"abs{0}\"]\n"
        "%y{0}: f16[*] = If(%c) version 17 @\"if{0}\" from [\"if{0}\"] regions {{\n"
        "then_branch = graph \"t\" () -> (%t{0}) {{ %t{0}: f16[*] = Exp(%s{0}) version 13 @\"exp{0}\" from "
        "[\"exp{0}\"] }}\n"
        "else_branch = graph \"e\" () -> (%e{0}) {{ %e{0}: f16[*] = Neg(%s{0}) version 13 @\"neg{0}\" from "
        "[\"neg{0}\"] }}\n}}\n",
        i, read);
  }
  const Model before = parse(text + "}");
  Model after = clone(before);
  EXPECT_EQ(retype(after, asked("exp*:fp32")), kBranches);
  const auto is_cast = [](const auto& node) { return node->op == "Cast"; };
  EXPECT_EQ(std::count_if(after.graph->nodes().begin(), after.graph->nodes().end(), is_cast), kBranches);
  for (const auto& node : after.graph->nodes()) {
    if (node->op != "If") continue;
    EXPECT_EQ(types(*node->region("then_branch")), "Exp:f32 Cast:f16") << node->name;
    EXPECT_EQ(types(*node->region("else_branch")), "Neg:f16") << node->name;
  }
}

TEST(RetypeNodes, OtherTypesThanF32GoByWayOfIt) {
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f16[2, 2]) -> (%y) {
    %y: f16[*] = MatMul(%x, %x) version 13 @"product" from ["product"]
  })"),
                                       asked("product:bf16"));
  EXPECT_EQ(types(*typed.model.graph), "Cast:f32 Cast:bf16 MatMul:bf16 Cast:f16");
  std::set<std::string> names;
  for (const auto& node : typed.model.graph->nodes())
    EXPECT_TRUE(names.insert(node->name).second) << node->name;
  EXPECT_EQ(typed.plan.layers.at("product").compute, bf16);
  EXPECT_EQ(typed.plan.layers.at("product").by, By::kUser);
}

TEST(RetypeNodes, DoublesAreMadeF32WhereThatIsAskedAndKeptWhereF32IsKept) {
  const char* text = R"(graph "g" (%x: f64[2]) -> (%y) {
    %y: f64[*] = Neg(%x) version 13 @"neg" from ["neg"]
  })";
  EXPECT_EQ(types(*typed_model(parse(text), asked("neg:fp32")).model.graph), "Cast:f32 Neg:f32 Cast:f64");
  PrecisionOptions kept;
  kept.layers = {{"*", f32, true}};
  const TypedModel typed = typed_model(parse(text), kept);
  EXPECT_EQ(types(*typed.model.graph), "Neg:f64");
  EXPECT_EQ(typed.plan.layers.at("neg").store, f64);
}

TEST(RetypeNodes, TypesOfResultsAndPlansAreOrdersToo) {
  const TypedModel typed = typed_model(parse(kSquares), asked("", "square:fp32"));
  EXPECT_EQ(types(*typed.model.graph), "Cast:f32 Pow:f32 Cast:f16 Sqrt:f16 Mul:f16");
  const TemporaryFolder folder;
  write_file(folder.path() / "plan.json", plan_json(typed.plan));
  PrecisionOptions by_plan;
  by_plan.plan = folder.path() / "plan.json";
  const TypedModel again = typed_model(parse(kSquares), by_plan);
  EXPECT_EQ(print(*again.model.graph), print(*typed.model.graph));
  EXPECT_EQ(plan_json(again.plan), plan_json(typed.plan));
}

TEST(RetypeNodes, ASecondTimeThereIsNothingToDo) {
  Model model = parse(kSquares);
  EXPECT_EQ(retype(model, asked("square:fp32,root:fp32")), 2);
  EXPECT_EQ(retype(model, asked("square:fp32,root:fp32")), 0);
}

TEST(RetypeNodes, NothingIsDoneWhereNothingElseIsAsked) {
  Model model = parse(kSquares);
  const std::string before = print(*model.graph);
  EXPECT_EQ(retype(model, asked("*:fp16")), 0);
  EXPECT_EQ(print(*model.graph), before);
}

const char* const kIndices = R"(graph "g" (%x: f32[4], %n: i64[4]) -> (%y, %k) {
  %k: i64[*] = Add(%n, %n) version 13 @"indices" from ["indices"]
  %y: f32[*] = Neg(%x) version 13 @"neg" from ["neg"]
})";

TEST(AskedTypes, APatternLeavesOutWhatComputesNoFloats) {
  const Model model = parse(kIndices);
  const AskedTypes types(asked("*:fp16"), *model.graph);
  EXPECT_EQ(types.layer(*model.graph->nodes()[0]), nullptr);
  ASSERT_NE(types.layer(*model.graph->nodes()[1]), nullptr);
  EXPECT_EQ(types.impossible().differences(), 0);
  EXPECT_EQ(types.notes(), std::vector<std::string>{
                               "--layer-precisions '*:f16' leaves out 1 of the 2 nodes that it matches, "
                               "which are not computed in f16: 'indices' (it makes i64)"});
  EXPECT_EQ(typed_model(model, asked("*:fp16")).plan.layers.at("indices").by, By::kDeclared);
}

TEST(AskedTypes, AnExactNameOfSuchANodeIsRefused) {
  const Model model = parse(kIndices);
  try {
    typed_model(model, asked("indices:fp16"));
    FAIL() << "nothing is said";
  } catch (const PrecisionDifference& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'indices'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("stored i64, not f16"));
  }
  PrecisionOptions prefer = asked("indices:fp16");
  prefer.constraints = PrecisionConstraints::kPrefer;
  EXPECT_THAT(typed_model(model, prefer).plan.notes,
              testing::ElementsAre("--layer-precisions 'indices:f16': stored i64, not f16"));
}

TEST(AskedTypes, Int8IsForContractions) {
  const Model model = parse(R"(graph "g" (%x: f32[2, 2]) -> (%y) {
    %a: f32[*] = MatMul(%x, %x) version 13 @"product" from ["product"]
    %y: f32[*] = Neg(%a) version 13 @"neg" from ["neg"]
  })");
  const AskedTypes types(asked("*:int8"), *model.graph);
  EXPECT_NE(types.layer(*model.graph->nodes()[0]), nullptr);
  EXPECT_EQ(types.layer(*model.graph->nodes()[1]), nullptr);
}

TEST(AskedTypes, TheLastThatCanApplyCounts) {
  const Model model = parse(kIndices);
  const AskedTypes types(asked("neg:bf16,*:fp16"), *model.graph);
  EXPECT_EQ(types.layer(*model.graph->nodes()[1])->type, f16);
  EXPECT_THROW(AskedTypes(asked("nobody:fp32"), *model.graph), Error);
}

TEST(Rules, WhatTheModelDeclaresNarrowIsSaid) {
  PrecisionOptions options;
  options.bf16 = true;
  const TypedModel typed = typed_model(parse(kSquares), options);
  EXPECT_EQ(types(*typed.model.graph), "Pow:f16 Sqrt:f16 Mul:f16");
  EXPECT_THAT(typed.plan.notes, testing::ElementsAre(testing::HasSubstr("3 nodes are declared narrower")));
}

}  // namespace
}  // namespace vernier

// Models with the types of a plan, as they are written to ONNX.
#include "precision/typed_models.h"
#include "vernier/base/file.h"
#include "vernier/precision/node_class.h"

namespace vernier {
namespace {

constexpr auto f32 = ElementType::kFloat, bf16 = ElementType::kBFloat16, f16 = ElementType::kFloat16;

PrecisionOptions lowered_to(ElementType type) {
  PrecisionOptions options;
  options.bf16 = type == bf16;
  options.fp16 = type == f16;
  return options;
}

std::vector<ElementType> constant_types(const Graph& graph) {
  std::vector<ElementType> found;
  for (const auto& value : graph.values()) {
    if (value->is_constant()) found.push_back(value->constant->type());
  }
  return found;
}

TEST(TypedModel, AChainOfNarrowNodesHasOneCastInAndOneOut) {
  const Model model = small_net();
  const TypedModel typed = typed_model(model, lowered_to(bf16));
  EXPECT_EQ(types(*typed.model.graph),
            "Cast:bf16 Conv:bf16 Relu:bf16 Conv:bf16 Cast:f32 Exp:f32 Softmax:f32");
  EXPECT_EQ(typed.casts, 2);
  EXPECT_EQ(constant_types(*typed.model.graph), std::vector<ElementType>{bf16});  // both read one
  expect_declared(typed);
  const double error = distance(model, typed.model);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.02);
}

TEST(TypedModel, TheOpsetIsTheOneThatTheTypesNeed) {
  EXPECT_EQ(typed_model(small_net(), lowered_to(bf16)).opset, 22);  // the first with a Conv of BFLOAT16
  EXPECT_EQ(typed_model(small_net(), lowered_to(f16)).opset, 13);
  EXPECT_EQ(typed_model(small_net(), {}).opset, 13);
  const TypedModel typed = typed_model(small_net(), lowered_to(bf16));
  for (const auto& node : typed.model.graph->nodes()) EXPECT_EQ(node->version, 22) << node->name;
  EXPECT_EQ(typed.model.ir_version, 10);
}

TEST(TypedModel, AnOperatorThatOnnxHasNotInTheTypeComputesFloatsAndRounds) {
  Model model = parse(R"(graph "g" (%x: f32[4, 4]) -> (%y) {
    %a: f32[*] = MatMul(%x, %x) version 13 @"first" from ["first"]
    %e: f32[*] = Einsum(%a, %a) {equation = "ij,jk->ik"} version 13 @"einsum" from ["einsum"]
    %y: f32[*] = MatMul(%e, %e) version 13 @"last" from ["last"]
  })");
  ASSERT_FALSE(opset_of_type(*model.graph->nodes()[1], bf16));
  const TypedModel typed = typed_model(model, lowered_to(bf16));
  // The MatMul stores a narrow type already; Einsum's result is rounded for the next node.
  EXPECT_EQ(types(*typed.model.graph),
            "Cast:bf16 MatMul:bf16 Cast:f32 Einsum:f32 Cast:bf16 MatMul:bf16 Cast:f32");
  // The same model with types that an engine may give.
  Model engine = parse(R"(graph "g" (%x: f32[4, 4]) -> (%y) {
    %a: f32[*] = MatMul(%x, %x) version 13 @"first" from ["first"]
    %e: f32[*] = Einsum(%a, %a) {equation = "ij,jk->ik"} version 13 @"einsum" from ["einsum"]
    %y: f32[*] = MatMul(%e, %e) version 13 @"last" from ["last"]
  })");
  apply(engine, lowered_to(bf16));
  EXPECT_EQ(distance(engine, typed.model), 0);
}

TEST(TypedModel, MasksBeyondTheNarrowRangeStayWide) {
  const auto text = [](const char* mask) {
    return fmt::format(R"(graph "g" (%x: f32[4, 4], %c: bool[4, 4]) -> (%y) {{
      const %m = f32[] hex"{}"
      const %z = f32[] hex"00000000"
      %s: f32[*] = MatMul(%x, %x) version 13 @"scores" from ["scores"]
      %w: f32[*] = Where(%c, %z, %m) version 13 @"mask" from ["mask"]
      %a: f32[*] = Add(%s, %w) version 13 @"add" from ["add"]
      %p: f32[*] = Softmax(%a) version 13 @"softmax" from ["softmax"]
      %y: f32[*] = MatMul(%p, %x) version 13 @"values" from ["values"]
    }})",
                       mask);
  };
  const TypedModel large =
      typed_model(parse(text("ffff7fff")), lowered_to(bf16));  // the largest float, negative
  EXPECT_EQ(large.plan.layers.at("add").store, f32);
  EXPECT_EQ(large.plan.layers.at("add").by, LayerPrecision::By::kRange);
  EXPECT_EQ(large.plan.layers.at("softmax").store, f32);
  EXPECT_EQ(large.plan.layers.at("values").compute, bf16);
  EXPECT_EQ(typed_model(parse(text("00409cc5")), lowered_to(f16)).plan.layers.at("add").store, f16);  // -5000
  EXPECT_EQ(typed_model(parse(text("0050c3c7")), lowered_to(f16)).plan.layers.at("add").store,
            f32);  // -100000
  EXPECT_EQ(typed_model(parse(text("0050c3c7")), lowered_to(bf16)).plan.layers.at("add").store, bf16);
}

// As an engine plans what it merged to one normalisation.
TEST(TypedModel, WhatAMergedNodeHoldsInsideStaysWide) {
  const TemporaryFolder folder;
  const auto with_plan = [&](const char* by) {
    const std::string layer =
        fmt::format(R"({{"compute": "f32", "accumulate": "f32", "store": "f16", "by": "{}"}})", by);
    write_file(folder.path() / "plan.json",
               R"({"schema": "vernier-plan", "version": 1, "layers": {"square": )" + layer + R"(, "add": )" +
                   layer + R"(, "root": )" + layer + "}}");
    PrecisionOptions options;
    options.plan = folder.path() / "plan.json";
    return typed_model(parse(R"(graph "g" (%x: f32[2, 4]) -> (%y) {
      const %two = f32[] hex"00000040"
      %s: f32[*] = Pow(%x, %two) version 13 @"square" from ["square"]
      %a: f32[*] = Add(%s, %two) version 13 @"add" from ["add"]
      %y: f32[*] = Sqrt(%a) version 13 @"root" from ["root"]
    })"),
                       options);
  };
  EXPECT_EQ(types(*with_plan("rule").model.graph), "Pow:f32 Cast:f16 Add:f16 Sqrt:f16 Cast:f32");
  EXPECT_EQ(types(*with_plan("user").model.graph), "Cast:f16 Pow:f16 Add:f16 Sqrt:f16 Cast:f32");
}

TEST(TypedModel, ConstantsAreStoredNarrowWhateverHoldsThem) {
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f32[2, 2]) -> (%y) {
    const %v = f32[2, 2] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"
    %w: f32[*] = Constant() {value = tensor f32[2, 2] hex"cdcccc3dcdcc4c3e9a9999be9a99193e"} version 13 @"w" from ["w"]
    %t: f32[*] = Transpose(%v) version 13 @"t" from ["t"]
    %a: f32[*] = MatMul(%x, %w) version 13 @"a" from ["a"]
    %y: f32[*] = MatMul(%a, %t) version 13 @"b" from ["b"]
  })"),
                                       lowered_to(bf16));
  EXPECT_EQ(types(*typed.model.graph), "Transpose:bf16 Cast:bf16 MatMul:bf16 MatMul:bf16 Cast:f32");
  EXPECT_EQ(constant_types(*typed.model.graph), (std::vector<ElementType>{bf16, bf16}));
}

TEST(TypedModel, WeightsListedAsInputsBecomeConstants) {
  Model model = small_net();
  for (const auto& value : model.graph->values()) {
    if (value->is_constant()) model.graph->inputs.push_back(value.get());
  }
  model.ir_version = 3;
  const TypedModel typed = typed_model(model, lowered_to(f16));
  EXPECT_EQ(typed.defaults, 1);
  EXPECT_EQ(typed.model.graph->inputs.size(), 1);
  EXPECT_GE(typed.model.ir_version, 4);
  EXPECT_EQ(constant_types(*typed.model.graph), std::vector<ElementType>{f16});
}

TEST(TypedModel, SettingsWithADefaultStayInputs) {
  Model model = parse(R"(graph "g" (%x: f32[1, 2]) -> (%y) {
    const %axes = i64[1] hex"0100000000000000"
    %y: f32[*] = Unsqueeze(%x, %axes) version 13 @"y" from ["y"]
  })");
  for (const auto& value : model.graph->values()) {
    if (value->is_constant()) model.graph->inputs.push_back(value.get());
  }
  EXPECT_EQ(typed_model(model, lowered_to(f16)).model.graph->inputs.size(), 2);
  model.ir_version = 3;
  EXPECT_EQ(typed_model(model, lowered_to(f16)).model.graph->inputs.size(), 1);
}

TEST(TypedModel, WhatTakesAnyTypeReadsWithoutACast) {
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f32[N, 2]) -> (%s, %n, %i, %y) {
    %p: f32[*] = MatMul(%x, %x) version 13 @"p" from ["p"]
    %s: i64[*] = Shape(%p) version 13 @"s" from ["s"]
    %n: bool[*] = IsNaN(%p) version 13 @"n" from ["n"]
    %i: i64[*] = Cast(%p) {to = 7} version 13 @"i" from ["i"]
    %y: f32[*] = MatMul(%p, %x) version 13 @"y" from ["y"]
  })"),
                                       lowered_to(bf16));
  EXPECT_EQ(types(*typed.model.graph),
            "Cast:bf16 MatMul:bf16 Shape:i64 IsNaN:bool Cast:i64 MatMul:bf16 Cast:f32");
}

TEST(TypedModel, OutputsKeepTheirNamesAndTypes) {
  const TypedModel typed = typed_model(parse(R"(graph "g" (%x: f32[2, 2]) -> (%p, %y) {
    %p: f32[*] = MatMul(%x, %x) version 13 @"p" from ["p"]
    %y: f32[*] = MatMul(%p, %x) version 13 @"y" from ["y"]
  })"),
                                       lowered_to(bf16));
  for (const Value* output : typed.model.graph->outputs) EXPECT_EQ(element_of(output), f32);
  EXPECT_EQ(typed.model.graph->outputs[0]->name, "p");
  EXPECT_EQ(typed.model.graph->outputs[1]->name, "y");
  expect_declared(typed);
}

}  // namespace
}  // namespace vernier

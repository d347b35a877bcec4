// Tests what an engine shows of a model whose values it keeps in narrower types.
#include "vernier/engine/model_values.h"

#include <gmock/gmock.h>

#include "vernier/backends/simulated/driver.h"
#include "vernier/builder/builder.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/planned_runner.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

Model chain() {
  Model model = parse_model(R"(model ir=10 opset "" 21 { graph "g" (%x: f32[2, 2], %z: f32[2, 2]) -> (%y) {
    %a: f32[2, 2] = MatMul(%x, %z) version 13 @"first" from ["first"]
    %b: f32[2, 2] = LeakyRelu(%a) {alpha = float 0.5} version 16 @"second" from ["second"]
    %y: f32[2, 2] = MatMul(%b, %z) version 13 @"last" from ["last"]
  } })");
  ops::infer_types(*model.graph);
  return model;
}

NamedData inputs() {
  std::vector<double> values;
  for (int i = 0; i < 4; ++i) values.push_back(0.3 * i - 0.7);
  const auto tensor = Tensor::from_doubles(ElementType::kFloat, {2, 2}, values);
  return {{"x", tensor}, {"z", tensor}};
}

std::shared_ptr<const Engine> engine_in(ElementType type) {
  BuildOptions options;
  options.precision.fp16 = type == ElementType::kFloat16;
  options.precision.bf16 = type == ElementType::kBFloat16;
  options.accelerators = {simulated::make_driver()};
  return compile(chain(), options);
}

TEST(ModelValues, NarrowOnesAreShownUnderTheNamesOfTheModel) {
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16}) {
    const auto engine = engine_in(type);
    EngineRunner runner(engine);
    PlannedRunner planned(engine);
    const Trace trace = runner.run(inputs(), {"a", "b"}), promised = planned.run(inputs(), {"a", "b"});
    for (const char* name : {"a", "b"}) {
      const TraceEntry *shown = trace.find(name), *expected = promised.find(name);
      ASSERT_TRUE(shown != nullptr && expected != nullptr) << name;
      EXPECT_EQ(shown->datum.tensor.type(), ElementType::kFloat);
      EXPECT_EQ(shown->declared, ElementType::kFloat);
      const auto values = shown->datum.tensor.to_doubles();
      EXPECT_EQ(values, Tensor::from_doubles(type, {2, 2}, values).to_doubles()) << "they are of that type";
      EXPECT_EQ(values, expected->datum.tensor.to_doubles());
    }
    EXPECT_EQ(trace.find("a/f16"), nullptr);
  }
}

TEST(ModelValues, ContentsThatAreGivenReachTheNarrowOnes) {
  const auto engine = engine_in(ElementType::kFloat16);
  PlannedRunner planned(engine);
  const std::vector<double> a = {0.5, -0.5, 2, -3};
  const NamedData given = {{"a", Tensor::from_doubles(ElementType::kFloat, {2, 2}, a)}};
  const auto trace = planned.run_with_values(inputs(), {"b"}, given, std::nullopt);
  ASSERT_TRUE(trace);
  EXPECT_EQ(trace->find("b")->datum.tensor.to_doubles(), (std::vector<double>{0.5, -0.25, 2, -1.5}));
}

TEST(ModelValues, AnotherNameStaysAsItIs) {
  const Model model = parse_model(R"(model ir=10 opset "" 21 { graph "g" (%x: f16[2], %a: f16[2]) -> (%y) {
    %a/f16: f16[2] = Neg(%x) version 13 @"n" from ["n"]
    %b/f32: f16[2] = Neg(%a/f16) version 13 @"m" from ["m"]
    %y: f16[2] = Add(%b/f32, %a) version 14 @"s" from ["s"]
  } })");
  const ModelValues values(*model.graph);
  for (const auto& value : model.graph->values()) EXPECT_EQ(values.name_of(*value), value->name);
}

}  // namespace
}  // namespace vernier

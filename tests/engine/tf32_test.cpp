// Engines whose products may round their factors to TF32, on the simulated accelerator, which truncates them.
#include <gmock/gmock.h>

#include "engine/small_engine.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/engine/audit.h"
#include "vernier/engine/describe.h"
#include "vernier/precision/rules.h"
#include "vernier/proof/proof.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::HasSubstr;

Model conv_net() {
  Model model = parse_graph(R"(graph "g" (%x: f32[2, 8, 7, 7], %w: f32[8, 8, 3, 3], %m: f32[8, 10]) -> (%y) {
    %a: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"conv" from ["conv"]
    %r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
    %s: f32[*] = Add(%r, %x) version 14 @"add" from ["add"]
    %g: f32[*] = GlobalAveragePool(%s) version 1 @"pool" from ["pool"]
    %f: f32[*] = Flatten(%g) version 13 @"flatten" from ["flatten"]
    %y: f32[*] = MatMul(%f, %m) version 13 @"product" from ["product"]
  })");
  for (const Value* input : model.graph->inputs) {
    auto* value = const_cast<Value*>(input);
    if (input->name == "w") value->constant = noise({8, 8, 3, 3}, 1);
    if (input->name == "m") value->constant = noise({8, 10}, 2);
  }
  std::erase_if(model.graph->inputs, [](const Value* input) { return input->is_constant(); });
  return model;
}

BuildOptions on_accelerator(const std::string& layers = "") {
  BuildOptions options;
  options.accelerators = {simulated::make_driver()};
  options.precision.tf32 = layers.empty();
  options.precision.layers = parse_layer_types(layers);
  return options;
}

NamedData data() {
  return {{"x", noise({2, 8, 7, 7}, 3)}};
}

// The contracts of the steps by their first ONNX node.
std::map<std::string, std::string> contracts(const std::shared_ptr<const Engine>& engine) {
  std::map<std::string, std::string> found;
  Session session(engine);
  for (const StepDescription& step : describe_steps(*session.plan(data()))) {
    if (!step.nodes.empty()) found[step.nodes.front()] = step.contract;
  }
  return found;
}

// Sets the variable that forbids TF32 as long as it lives.
struct Forbidden {
  Forbidden() { setenv(kTf32Variable, "0", 1); }
  ~Forbidden() { unsetenv(kTf32Variable); }
};

TEST(Tf32, AnEngineKeepsItsPromiseThoughFactorsAreTruncated) {
  const Model model = conv_net();
  const auto by_tf32 = prove(compile(model, on_accelerator()), model);
  EXPECT_EQ(by_tf32.verdict, Verdict::kPass);
  EXPECT_GT(by_tf32.outputs.at(0).declared, 1e-5);
  EXPECT_LT(by_tf32.outputs.at(0).declared, 5e-3);
  BuildOptions strict = on_accelerator();
  strict.precision.tf32 = false;
  const auto as_declared = prove(compile(model, strict), model);
  EXPECT_EQ(as_declared.verdict, Verdict::kPass);
  EXPECT_LT(as_declared.outputs.at(0).declared, 1e-6);
}

// Losses of products of positive numbers add up from one to the next.
TEST(Tf32, ADeepChainOfPositiveProductsKeepsItsPromise) {
  constexpr int kProducts = 40;
  std::string text = "graph \"g\" (%x: f32[2, 16], %w: f32[16, 16]) -> (%y) {\n";
  for (int i = 0; i < kProducts; ++i) {
    const std::string from = i == 0 ? "x" : fmt::format("v{}", i - 1),
                      to = i + 1 == kProducts ? "y" : fmt::format("v{}", i);
    text += fmt::format("%{}: f32[*] = MatMul(%{}, %w) version 13 @\"n{}\" from [\"n{}\"]\n", to, from, i, i);
  }
  Model model = parse_graph(text + "}");
  auto weights = noise({16, 16}, 1).to_doubles();
  for (double& weight : weights) weight = (weight + 1) / 16;  // rows add up to 1, or nearly so
  auto* input = const_cast<Value*>(model.graph->inputs.back());
  input->constant = Tensor::from_doubles(ElementType::kFloat, {16, 16}, weights);
  model.graph->inputs.pop_back();
  const auto certificate = prove(compile(model, on_accelerator()), model);
  EXPECT_EQ(certificate.verdict, Verdict::kPass);
  EXPECT_GT(certificate.outputs.at(0).planned, 0.01);
}

TEST(Tf32, TheAuditAndTheStepsSayWhichProductsRoundToIt) {
  const auto engine = compile(conv_net(), on_accelerator());
  Session session(engine);
  const auto audit = engine->audit(*session.plan(data()));
  EXPECT_EQ(audit.differences(), 0) << audit.first_differences(9);
  std::map<std::string, std::string_view> computed;
  for (const AuditRow& row : audit.rows) computed[row.node] = compute_name(row.executed);
  EXPECT_EQ(computed.at("conv"), "tf32");
  EXPECT_EQ(computed.at("product"), "tf32");
  EXPECT_NE(computed.at("relu"), "tf32");
  EXPECT_THAT(contracts(engine).at("conv"), HasSubstr("operands tf32"));
}

TEST(Tf32, NodesThatAreKeptStayStrict) {
  BuildOptions options = on_accelerator();
  options.precision.layers = {{"conv", ElementType::kFloat, true}};
  auto kept = contracts(compile(conv_net(), options));
  EXPECT_THAT(kept.at("conv"), testing::Not(HasSubstr("tf32")));
  EXPECT_THAT(kept.at("product"), HasSubstr("operands tf32"));
  auto alone = contracts(compile(conv_net(), on_accelerator("conv:tf32")));
  EXPECT_THAT(alone.at("conv"), HasSubstr("operands tf32"));
  EXPECT_THAT(alone.at("product"), testing::Not(HasSubstr("tf32")));
}

// Where nobody asked for it, obeying the plan passes such a kernel over.
TEST(Tf32, AKernelThatRoundsToItIsNoneOfAStrictPlan) {
  const Model model = conv_net();
  const Node& product = *model.graph->nodes().back();
  struct Rounding : Kernel {
    void run(const KernelArguments&) const override {}
  } kernel;
  kernel.contract = {.computed = ElementType::kFloat,
                     .accumulated = ElementType::kFloat,
                     .stored = ElementType::kFloat,
                     .operands = OperandFormat::tf32()};
  PrecisionPlan plan = declared_plan(*model.graph);
  const auto difference = [&] {
    return kernel_difference(product, kernel, {ElementType::kFloat}, plan, {"product"});
  };
  EXPECT_EQ(difference(), "MatMul 'product': computed tf32, not f32");
  plan.layers.at("product").tf32 = true;
  EXPECT_EQ(difference(), "");
}

TEST(Tf32, ACpuHasNone) {
  const Model model = conv_net();
  BuildOptions options = on_accelerator();
  options.accelerators.clear();
  try {
    compile(model, options);
    FAIL() << "it was built";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("a CPU multiplies floats as they are"));
  }
  options.precision.no_tf32 = true;
  EXPECT_NO_THROW(compile(model, options));
  // A plan that was made for a GPU is computed more exactly than it says.
  BuildOptions planned;
  planned.planned = make_precision_plan(*model.graph, *model.graph, on_accelerator().precision);
  const auto a = Session(compile(model, planned)).run(data()).at("y").tensor.to_doubles(),
             b = Session(compile(model)).run(data()).at("y").tensor.to_doubles();
  EXPECT_THAT(a, testing::Pointwise(testing::DoubleNear(1e-6), b));
}

TEST(Tf32, TheVariableOfNvidiaForbidsIt) {
  const Forbidden forbidden;
  const auto engine = compile(conv_net(), on_accelerator());
  EXPECT_THAT(contracts(engine).at("conv"), testing::Not(HasSubstr("tf32")));
  EXPECT_FALSE(engine->precision().tf32);
  EXPECT_THAT(engine->precision().notes, Contains(HasSubstr("TF32 is off (NVIDIA_TF32_OVERRIDE=0)")));
}

TEST_F(EngineFileTest, EnginesThatAreLoadedRoundToTf32AsBefore) {
  Compiler compiler(conv_net(), on_accelerator());
  compiler.prepare({ValueType::of(ElementType::kFloat, to_shape({2, 8, 7, 7}))});
  const auto engine = compiler.engine();
  save_engine(*engine, path(), {});
  const auto loaded = load_engine(path()).engine;
  EXPECT_EQ(contracts(loaded), contracts(engine));
  EXPECT_EQ(loaded->precision().layers.at("conv").tf32, true);
  EXPECT_TRUE(
      Session(loaded).run(data()).at("y").tensor.identical(Session(engine).run(data()).at("y").tensor));
}

}  // namespace
}  // namespace vernier

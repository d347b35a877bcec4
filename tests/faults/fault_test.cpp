// Every fault that can be put into the CPU backend is found, at the node that it is in; and the same engine
// without it passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/builder/builder.h"
#include "vernier/compile/compiler.h"
#include "vernier/data/random/random_inputs.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/run/comparison_run.h"

namespace vernier {
namespace {

using testing::Contains;

// A model from text. Inputs whose names begin with w are weights: floats drawn from [low, high].
Model model_of(const std::string& graph, double low = -1, double high = 1) {
  Model model = parse_model("model ir=10 opset \"\" 24 {\n" + graph + "\n}");
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> draw(low, high);
  std::erase_if(model.graph->inputs, [&](Value* input) {
    if (!input->name.starts_with("w")) return false;
    const Dims dims = *to_dims(*input->type.tensor.shape);
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = draw(random);
    input->constant = Tensor::from_doubles(input->type.tensor.element, dims, values);
    return true;
  });
  ops::infer_types(*model.graph);
  return model;
}

using Accelerators = std::vector<std::shared_ptr<const Driver>>;

// Gives what `run --reference --cpu --layers` concludes.
ComparisonResult judge(const Model& model, const std::optional<FaultSpec>& fault,
                       const std::map<std::string, ValueRange>& ranges = {},
                       const Accelerators& accelerators = {}) {
  BuildOptions options;
  options.fault = fault;
  options.accelerators = accelerators;
  ReferenceRunner reference({"", &model});
  EngineRunner engine(build_on_demand(model, options));
  ComparisonJob job;
  job.runners = {&reference, &engine};
  job.compare.random_data = true;
  for (const auto& node : model.graph->nodes()) {
    for (const Value* output : node->outputs) job.taps.push_back(output->name);
  }
  RandomInputs inputs(model, {1, 1, ranges, {}});
  auto outcome = run_and_compare(job, inputs);
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures.at(0);
  return outcome.comparisons.at(0);
}

// Gives what `build` concludes.
Verdict verdict_of_build(const Model& model, const std::optional<FaultSpec>& fault,
                         const std::map<std::string, ValueRange>& ranges) {
  BuildOptions options;
  options.fault = fault;
  RandomInputs inputs(model, {1, 1, ranges, {}});
  return prove(compile(model, options), model, {*inputs.next()}).verdict;
}

// The fault is found in the first tensor that the engine makes with this node, and only because of the fault.
void expect_found(const Model& model, Fault kind, const std::string& node,
                  const std::map<std::string, ValueRange>& ranges = {}) {
  const auto sound = judge(model, std::nullopt, ranges);
  EXPECT_EQ(sound.verdict, Verdict::kPass) << verdict_name(sound.verdict);
  EXPECT_EQ(verdict_of_build(model, std::nullopt, ranges), Verdict::kPass);
  for (const std::string& where : {node, std::string()}) {
    const auto found = judge(model, FaultSpec{kind, where}, ranges);
    SCOPED_TRACE(fmt::format("{} at '{}'", fault_name(kind), where));
    EXPECT_EQ(found.verdict, Verdict::kFail);
    ASSERT_TRUE(found.first_difference);
    EXPECT_THAT(found.tensors[*found.first_difference].nodes, Contains(node));
    EXPECT_EQ(verdict_of_build(model, FaultSpec{kind, where}, ranges), Verdict::kFail);
    EXPECT_THAT(found.notes, Contains(testing::HasSubstr(fault_text({kind, node}))));
  }
}

Model residual_block() {
  return model_of(R"(graph "g" (%x: f32[2, 8, 9, 9], %w1: f32[8, 8, 3, 3], %w2: f32[8, 8, 1, 1]) -> (%y) {
    %a: f32[*] = Conv(%x, %w1) {pads = ints[1, 1, 1, 1]} version 22 @"c1" from ["c1"]
    %s: f32[*] = Add(%a, %x) version 14 @"skip" from ["skip"]
    %r: f32[*] = Relu(%s) version 14 @"relu" from ["relu"]
    %y: f32[*] = Conv(%r, %w2) version 22 @"c2" from ["c2"]
  })");
}

TEST(Faults, ClipBoundInAnEpilogue) {
  expect_found(model_of(R"(graph "g" (%x: f32[1, 4, 8, 8], %w: f32[8, 4, 3, 3]) -> (%y) {
    const %low = f32[] hex"00000000"
    const %high = f32[] hex"0000003f"
    %a: f32[*] = Conv(%x, %w) version 22 @"conv" from ["conv"]
    %y: f32[*] = Clip(%a, %low, %high) version 13 @"clip" from ["clip"]
  })"),
               Fault::kClipBound, "clip");
}

TEST(Faults, ClipBoundAmongPointwiseNodesAndAsAttribute) {
  expect_found(model_of(R"(graph "g" (%x: f32[4, 33]) -> (%y) {
    %a: f32[*] = Tanh(%x) version 13 @"tanh" from ["tanh"]
    %b: f32[*] = Clip(%a) {max = float 0.25, min = float -0.25} version 6 @"clip" from ["clip"]
    %y: f32[*] = Exp(%b) version 13 @"exp" from ["exp"]
  })"),
               Fault::kClipBound, "clip");
}

TEST(Faults, ScaleOfAChannel) {
  expect_found(model_of(R"(graph "g" (%x: f32[3, 5, 16], %w: f32[16]) -> (%y) {
    %a: f32[*] = Softmax(%x) {axis = 2} version 13 @"softmax" from ["softmax"]
    %y: f32[*] = Mul(%a, %w) version 14 @"scale" from ["scale"]
  })"),
               Fault::kChannelScale, "scale");
}

TEST(Faults, ScaleOfADequantizedChannel) {
  expect_found(model_of(R"(graph "g" (%x: f32[2, 3, 4, 4]) -> (%y) {
    const %s = f32[3] hex"cdcccc3dcdcc4c3ecdcccc3e"
    const %z = u8[3] hex"808080"
    %q: u8[*] = QuantizeLinear(%x, %s, %z) {axis = 1} version 13 @"q" from ["q"]
    %y: f32[*] = DequantizeLinear(%q, %s, %z) {axis = 1} version 13 @"dq" from ["dq"]
  })"),
               Fault::kChannelScale, "q");
}

TEST(Faults, ZeroPoint) {
  expect_found(model_of(R"(graph "g" (%x: f32[2, 3, 4, 4]) -> (%y) {
    const %s = f32[] hex"cdcccc3d"
    const %z = u8[] hex"80"
    %q: u8[*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
    %y: f32[*] = DequantizeLinear(%q, %s, %z) version 13 @"dq" from ["dq"]
  })"),
               Fault::kZeroPoint, "q");
}

TEST(Faults, Stride) {
  for (const char* sizes : {"[1, 16, 9, 9]", "[2, 3, 12, 7]"}) {
    expect_found(model_of(fmt::format(R"(graph "g" (%x: f32{}, %w: f32[16, {}, 3, 3], %wb: f32[16]) -> (%y) {{
    %a: f32[*] = Conv(%x, %w, %wb) {{strides = ints[2, 2], pads = ints[1, 1, 1, 1]}}
      version 22 @"conv" from ["conv"]
    %r: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
    %y: f32[*] = MaxPool(%r) {{kernel_shape = ints[2, 2]}} version 22 @"pool" from ["pool"]
  }})",
                                      sizes, sizes[4] == '1' ? 16 : 3)),
                 Fault::kStride, "conv");
  }
}

TEST(Faults, StrideOfAPool) {
  expect_found(model_of(R"(graph "g" (%x: f32[1, 4, 8, 8]) -> (%y) {
    %y: f32[*] = AveragePool(%x) {kernel_shape = ints[2, 2], strides = ints[2, 1]}
      version 22 @"pool" from ["pool"]
  })"),
               Fault::kStride, "pool");
}

TEST(Faults, Residual) {
  expect_found(residual_block(), Fault::kResidual, "skip");
}

TEST(Faults, ResidualOfAnAddAlone) {
  expect_found(model_of(R"(graph "g" (%x: f32[2, 8], %z: f32[2, 8]) -> (%y) {
    %y: f32[*] = Add(%x, %z) version 14 @"skip" from ["skip"]
  })"),
               Fault::kResidual, "skip");
}

TEST(Faults, StaleBuffer) {
  expect_found(residual_block(), Fault::kStaleBuffer, "c1");
}

TEST(Faults, StaleBufferHoldsTheRunBefore) {
  const Model model = residual_block();
  BuildOptions options;
  options.fault = FaultSpec{Fault::kStaleBuffer, "c2"};
  Session session(compile(model, options)), sound(compile(model));
  RandomInputs inputs(model, {1, 2, {}, {}});
  const auto first = inputs.next()->inputs, second = inputs.next()->inputs;
  session.run(first);
  EXPECT_TRUE(session.run(second).at("y").tensor.identical(sound.run(first).at("y").tensor));
}

// The run before may have left less than this one needs, or more.
TEST(Faults, StaleBufferOfSizesThatOnlyRunningTells) {
  const Model model = model_of(R"(graph "g" (%x: f32[4]) -> (%y) {
    %y: i64[*] = NonZero(%x) version 13 @"n" from ["n"]
  })");
  expect_found(model, Fault::kStaleBuffer, "n");
  BuildOptions options;
  options.fault = FaultSpec{Fault::kStaleBuffer, "n"};
  Session session(compile(model, options));
  const auto run = [&](const std::vector<double>& x) {
    const auto outputs = session.run({{"x", Tensor::from_doubles(ElementType::kFloat, {4}, x)}});
    return outputs.at("y").tensor.to_ints();
  };
  EXPECT_THAT(run({0, 1, 1, 0}), testing::ElementsAre(0, 0));
  EXPECT_THAT(run({1, 1, 1, 1}), testing::ElementsAre(1, 2, 0, 0));
  EXPECT_THAT(run({0, 0, 0, 1}), testing::ElementsAre(0));
}

TEST(Faults, SwappedAxis) {
  expect_found(model_of(R"(graph "g" (%x: f32[3, 6, 10], %w: f32[10, 6]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
    %y: f32[*] = Softmax(%a) {axis = 2} version 13 @"softmax" from ["softmax"]
  })"),
               Fault::kSwappedAxis, "product");
}

// The plan converts what the product makes: that a second kernel is of the same node undoes nothing.
TEST(Faults, SwappedAxisOfANarrowProduct) {
  const Model model = model_of(R"(graph "g" (%x: f32[3, 40, 50], %w: f32[50, 40]) -> (%y) {
    %y: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
  })");
  BuildOptions options;
  options.precision.fp16 = true;
  RandomInputs inputs(model, {1, 1, {}, {}});
  const NamedData data = inputs.next()->inputs;
  const auto sound = Session(compile(model, options)).run(data).at("y").tensor.to_doubles();
  options.fault = FaultSpec{Fault::kSwappedAxis, "product"};
  const auto wrong = Session(compile(model, options)).run(data).at("y").tensor.to_doubles();
  for (size_t i = 0; i < sound.size(); ++i)
    EXPECT_EQ(wrong[i], sound[i / 1600 * 1600 + i % 40 * 40 + i / 40 % 40]);
}

TEST(Faults, MissedSync) {
  expect_found(residual_block(), Fault::kMissedSync, "c1");
}

// Sums long enough for the default tolerance to tell them from rounding.
const char* const kLongProduct = R"(graph "g" (%x: f32[2, 131072], %w: f32[131072, 4]) -> (%y) {
    %a: f32[*] = MatMul(%x, %w) version 13 @"product" from ["product"]
    %y: f32[*] = Neg(%a) version 13 @"neg" from ["neg"]
  })";

TEST(Faults, Accumulation) {
  expect_found(model_of(kLongProduct, 0, 1), Fault::kAccumulation, "product", {{"x", {0, 1}}});
}

TEST(Faults, Fp16Accumulator) {
  expect_found(model_of(R"(graph "g" (%x: f32[2, 2000], %w: f32[5, 2000], %wc: f32[5]) -> (%y) {
    %a: f32[*] = Gemm(%x, %w, %wc) {transB = 1, alpha = float 0.5} version 13 @"product" from ["product"]
    %y: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
  })"),
               Fault::kFp16Accumulator, "product");
  expect_found(model_of(R"(graph "g" (%x: f32[2, 64, 7, 6], %w: f32[8, 32, 3, 3], %wb: f32[8]) -> (%y) {
    %a: f32[*] = Conv(%x, %w, %wb) {group = 2, strides = ints[2, 1], pads = ints[1, 0, 1, 2]}
      version 22 @"conv" from ["conv"]
    %y: f32[*] = Relu(%a) version 14 @"relu" from ["relu"]
  })"),
               Fault::kFp16Accumulator, "conv");
}

TEST(Faults, Tf32) {
  expect_found(residual_block(), Fault::kTf32, "c1");
}

TEST(Faults, OneThatGoesNowhereIsRefused) {
  const Model model = residual_block();
  for (const auto& [kind, node] : {std::pair(Fault::kZeroPoint, ""),
                                   {Fault::kResidual, "c1"},
                                   {Fault::kStaleBuffer, "nowhere"},
                                   {Fault::kStride, "c1"}}) {
    try {
      judge(model, FaultSpec{kind, node});
      FAIL() << fault_name(kind) << " at " << node;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage) << error.what();
    }
  }
}

// On a device whose memory the host does not see, the simulated accelerator: on its streams, in its memory.
void expect_found_on_device(const Model& model, Fault kind, const std::string& node) {
  const Accelerators device = {simulated::make_driver()};
  const auto sound = judge(model, std::nullopt, {}, device);
  EXPECT_EQ(sound.verdict, Verdict::kPass) << verdict_name(sound.verdict);
  for (const std::string& where : {node, std::string()}) {
    SCOPED_TRACE(fmt::format("{} at '{}'", fault_name(kind), where));
    const auto found = judge(model, FaultSpec{kind, where}, {}, device);
    EXPECT_EQ(found.verdict, Verdict::kFail);
    ASSERT_TRUE(found.first_difference);
    EXPECT_THAT(found.tensors[*found.first_difference].nodes, Contains(node));
    EXPECT_THAT(found.notes, Contains(testing::HasSubstr(fault_text({kind, node}))));
  }
}

TEST(Faults, OperandsOnADevice) {
  expect_found_on_device(residual_block(), Fault::kResidual, "skip");
  expect_found_on_device(model_of(R"(graph "g" (%x: f32[2, 3, 12, 7], %w: f32[16, 3, 3, 3]) -> (%y) {
    %y: f32[*] = Conv(%x, %w) {strides = ints[2, 2], pads = ints[1, 1, 1, 1]} version 22 @"conv" from ["conv"]
  })"),
                         Fault::kStride, "conv");
  expect_found_on_device(model_of(R"(graph "g" (%x: f32[3, 5, 16], %w: f32[16]) -> (%y) {
    %y: f32[*] = Mul(%x, %w) version 14 @"scale" from ["scale"]
  })"),
                         Fault::kChannelScale, "scale");
}

TEST(Faults, OutputsOnADevice) {
  expect_found_on_device(residual_block(), Fault::kStaleBuffer, "c1");
  expect_found_on_device(residual_block(), Fault::kMissedSync, "c1");
  expect_found_on_device(residual_block(), Fault::kSwappedAxis, "c1");
}

TEST(Faults, AStaleBufferOnADeviceHoldsTheRunBefore) {
  const Model model = residual_block();
  BuildOptions options;
  options.accelerators = {simulated::make_driver()};
  const auto engine = compile(model, options);
  options.fault = FaultSpec{Fault::kStaleBuffer, "c2"};
  Session session(compile(model, options)), sound(engine);
  RandomInputs inputs(model, {1, 4, {}, {}});
  std::vector<std::map<std::string, Datum>> all;
  for (int i = 0; i < 4; ++i) all.push_back(inputs.next()->inputs);  // the second run captures
  session.run(all[0]);
  for (size_t i = 1; i < all.size(); ++i) {
    EXPECT_TRUE(session.run(all[i]).at("y").tensor.identical(sound.run(all[i - 1]).at("y").tensor)) << i;
  }
}

// It sums exactly: what it has no kernel for goes nowhere.
TEST(Faults, OneThatADeviceCannotHaveIsRefused) {
  EXPECT_THROW(
      judge(residual_block(), FaultSpec{Fault::kFp16Accumulator, "c1"}, {}, {simulated::make_driver()}),
      Error);
}

TEST(Faults, Names) {
  EXPECT_EQ(parse_fault("residual:a:b", cpu::tactic_names()), (FaultSpec{Fault::kResidual, "a:b"}));
  EXPECT_EQ(parse_fault("fp16-accumulator", cpu::tactic_names()), (FaultSpec{Fault::kFp16Accumulator, ""}));
  for (const char* text : {"", "residual:", "residuals", "clip-bound "})
    EXPECT_THROW(parse_fault(text, cpu::tactic_names()), Error);
}

}  // namespace
}  // namespace vernier

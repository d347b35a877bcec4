// Engines by a precision plan: what they store, how far they are from what they promise, and what stops them.
#include <gmock/gmock.h>

#include "passes/rewriting.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/engine_runner.h"
#include "vernier/engine/planned_runner.h"
#include "vernier/precision/rules.h"
#include "vernier/proof/proof.h"
#include "vernier/run/comparison_run.h"

namespace vernier {
namespace {

using testing::HasSubstr;

// Numbers between -1/4 and 1/4, as the text of a constant.
std::string constant(const std::string& name, Dims dims, unsigned seed) {
  std::mt19937 random(seed);
  std::string hex;
  for (int64_t i = 0; i < element_count(dims); ++i) {
    const float value = std::uniform_real_distribution<float>(-0.25F, 0.25F)(random);
    for (const auto byte : std::bit_cast<std::array<uint8_t, sizeof(float)>>(value))
      hex += fmt::format("{:02x}", byte);
  }
  return fmt::format("const %{} = f32[{}] hex\"{}\"\n", name, fmt::join(dims, ", "), hex);
}

Model conv_net() {
  return parse_graph(R"(graph "g" (%x: f32[1, 16, 9, 9]) -> (%y) {
    )" + constant("w", {16, 16, 3, 3}, 1) +
                     constant("v", {16, 16, 3, 3}, 2) + constant("m", {16, 10}, 3) +
                     constant("b", {16, 1, 1}, 4) + R"(
    %a: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"conv_a" from ["conv_a"]
    %ab: f32[*] = Add(%a, %b) version 14 @"bias" from ["bias"]
    %r: f32[*] = Relu(%ab) version 14 @"relu" from ["relu"]
    %c: f32[*] = Conv(%r, %v) {pads = ints[1, 1, 1, 1]} version 11 @"conv_b" from ["conv_b"]
    %s: f32[*] = Add(%c, %r) version 14 @"add" from ["add"]
    %g: f32[*] = GlobalAveragePool(%s) version 1 @"pool" from ["pool"]
    %f: f32[*] = Flatten(%g) version 13 @"flatten" from ["flatten"]
    %y: f32[*] = MatMul(%f, %m) version 13 @"product" from ["product"]
  })");
}

BuildOptions in_type(ElementType type) {
  BuildOptions options;
  options.precision.bf16 = type == ElementType::kBFloat16;
  options.precision.fp16 = type == ElementType::kFloat16;
  return options;
}

std::vector<Sample> samples_of(const Model& model) {
  std::vector<Sample> samples;
  for (const uint64_t seed : {1, 2, 3})
    samples.push_back({"random", random_data(*model.graph, seed), {}, {}});
  return samples;
}

TEST(PrecisionOfEngines, IsWithinNoiseOfWhatTheyPromise) {
  const Model model = conv_net();
  for (const ElementType type : {ElementType::kFloat, ElementType::kFloat16, ElementType::kBFloat16}) {
    const auto engine = compile(model, in_type(type));
    const auto report = prove(engine, model, samples_of(model));
    EXPECT_EQ(report.verdict, Verdict::kPass) << element_type_short_name(type);
    EXPECT_EQ(report.samples.size(), 3);
    EXPECT_TRUE(report.notes.empty());
    const double price = report.outputs.at(0).declared;
    if (type == ElementType::kFloat) {
      EXPECT_LT(price, 1e-5);
    } else {
      EXPECT_GT(price, 1e-5);
      EXPECT_LT(price, 0.05);
    }
  }
}

TEST(PrecisionOfEngines, RandomSamplesWhereNoneAreGiven) {
  const Model model = conv_net();
  const auto report = prove(compile(model, in_type(ElementType::kBFloat16)), model);
  EXPECT_EQ(report.verdict, Verdict::kPass);
  EXPECT_THAT(report.samples, testing::SizeIs(1));
}

// Were the verdict blind, an engine with other weights would pass as well.
TEST(PrecisionOfEngines, AnEngineThatBreaksItsPromiseFails) {
  const Model model = conv_net();
  const auto engine = compile(model, in_type(ElementType::kBFloat16));
  EngineRunner actual(engine);
  PlannedRunner planned(compile(parse_graph(print(*model.graph)), in_type(ElementType::kFloat)));
  const auto data = random_data(*model.graph, 1);
  const auto result = compare(planned.run(data, {}), actual.run(data, {}));
  EXPECT_EQ(result.verdict, Verdict::kFail);  // f32 was promised, and bf16 computed
}

TEST(PrecisionOfEngines, TheAuditNamesEveryNode) {
  const Model model = conv_net();
  const auto engine = compile(model, in_type(ElementType::kBFloat16));
  Session session(engine);
  const auto audit = engine->audit(*session.plan(random_data(*model.graph, 1)));
  EXPECT_EQ(audit.differences(), 0) << audit.first_differences(9);
  std::map<std::string, AuditRow> rows;
  for (const AuditRow& row : audit.rows) EXPECT_TRUE(rows.emplace(row.node, row).second) << row.node;
  EXPECT_EQ(rows.size(), model.graph->nodes().size());
  EXPECT_EQ(rows.at("flatten").executed.how, ExecutedPrecision::How::kView);
  EXPECT_EQ(rows.at("relu").executed.store, ElementType::kBFloat16);
  EXPECT_EQ(rows.at("conv_a").requested->compute, ElementType::kBFloat16);
  EXPECT_EQ(rows.at("conv_a").executed.store, ElementType::kUndefined);  // stays inside the kernel
}

std::string built(const Model& model, const BuildOptions& options) {
  try {
    Session(compile(model, options)).plan(random_data(*model.graph, 1));
    return "built";
  } catch (const PrecisionDifference& error) {
    return error.what();
  }
}

TEST(PrecisionOfEngines, ANodeThatCannotBeServedStopsTheBuild) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[2, 3]) -> (%y, %i) {
    %y: f32[*] = Relu(%x) version 14 @"relu" from ["relu"]
    %i: i64[*] = ArgMax(%x) {axis = 1, keepdims = 0} version 13 @"which" from ["which"]
  })");
  BuildOptions options;
  options.precision.layers = parse_layer_types("which:bf16");
  EXPECT_THAT(built(model, options), HasSubstr("'which'"));
  options.precision.constraints = PrecisionConstraints::kPrefer;
  EXPECT_EQ(built(model, options), "built");
  Session session(compile(model, options));
  const auto engine = compile(model, options);
  EXPECT_EQ(engine->audit(*session.plan(random_data(*model.graph, 1))).differences(), 1);
}

// `propagate-dequantize` makes the Reshape and the MaxPool ones of quantized values, which only run by the
// reference where the sizes before them are known when they run. They narrow nothing.
TEST(PrecisionOfEngines, QuantizedValuesThatAreMovedAreNotNarrower) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[4], %q: u8[4]) -> (%y, %p) {
    const %s = f32[] hex"0000003f"
    const %z = u8[] hex"80"
    const %sizes = i64[4] hex"0100000000000000010000000000000004000000000000000100000000000000"
    %n: i64[*] = NonZero(%x) version 13 @"n" from ["n"]
    %m: i64[*] = Squeeze(%n) version 13 @"m" from ["m"]
    %g: u8[*] = Gather(%q, %m) version 13 @"g" from ["g"]
    %d: f32[*] = DequantizeLinear(%g, %s, %z) version 13 @"d" from ["d"]
    %y: f32[*] = Reshape(%d, %sizes) version 13 @"reshape" from ["reshape"]
    %p: f32[*] = MaxPool(%y) {kernel_shape = ints[2, 1]} version 12 @"pool" from ["pool"]
  })");
  EXPECT_EQ(built(model, {}), "built");
}

// `propagate-dequantize` makes the Transpose one of quantized values, which moves nothing and goes: its node
// is then the quantization's, which stores integers as before.
TEST(PrecisionOfEngines, AQuantizationThatStandsForOthersStoresIntegers) {
  const Model model = parse_graph(R"(graph "g" (%x: f32[1, 1, 4]) -> (%y, %z) {
    const %s = f32[] hex"0000003f"
    const %t = f32[] hex"0000803e"
    const %sizes = i64[1] hex"0400000000000000"
    %q: u8[*] = QuantizeLinear(%x, %s) version 13 @"q" from ["q"]
    %d: f32[*] = DequantizeLinear(%q, %s) version 13 @"d" from ["d"]
    %p: u8[*] = QuantizeLinear(%d, %t) version 13 @"p" from ["p"]
    %y: f32[*] = DequantizeLinear(%p, %t) version 13 @"y" from ["y"]
    %m: f32[*] = Transpose(%d) {perm = ints[1, 0, 2]} version 13 @"m" from ["m"]
    %z: f32[*] = Reshape(%m, %sizes) version 14 @"z" from ["z"]
  })");
  EXPECT_EQ(built(model, {}), "built");
}

// Results are the middles of two quantization steps, moved by `off`, and then each to its neighbour upwards
// or downwards: those of odd and of even channels change places with `swapped`.
Model beside_ties(double off, bool swapped = false) {
  constexpr int64_t kChannels = 512;
  const auto scale = 0.0234567F;
  std::vector<double> bias;
  for (int64_t i = 0; i < kChannels; ++i) {
    const auto middle =
        static_cast<float>((static_cast<double>(i % 120) + 0.5) * static_cast<double>(scale) + off);
    bias.push_back(static_cast<double>(std::nextafter(middle, (i % 2 == 0) != swapped ? 10.0F : -10.0F)));
  }
  Model model = parse_graph(R"(graph "g" (%x: u8[1, 16, 4, 4], %w: i8[512, 16, 1, 1], %b: f32[512]) -> (%y) {
    const %s = f32[] hex"0000003d"
    const %z = u8[] hex"00"
    const %wz = i8[] hex"00"
    const %ys = f32[] hex"4428c03c"
    %xd: f32[*] = DequantizeLinear(%x, %s, %z) version 13 @"xd" from ["xd"]
    %wd: f32[*] = DequantizeLinear(%w, %s, %wz) version 13 @"wd" from ["wd"]
    %c: f32[*] = Conv(%xd, %wd, %b) version 11 @"conv" from ["conv"]
    %y: u8[*] = QuantizeLinear(%c, %ys, %z) version 13 @"quantize" from ["quantize"]
  })");
  for (Value* input : model.graph->inputs) {
    if (input->name == "b") input->constant = Tensor::from_doubles(ElementType::kFloat, {kChannels}, bias);
    if (input->name == "w")
      input->constant = Tensor::from_doubles(ElementType::kInt8, {kChannels, 16, 1, 1},
                                             std::vector<double>(kChannels * 16, 1));
  }
  std::erase_if(model.graph->inputs, [](const Value* input) { return input->is_constant(); });
  return model;
}

// The engine of one against the plan of the other, on zeros.
ComparisonOutcome compared(const Model& planned_model, const Model& engine_model) {
  EngineRunner actual(compile(engine_model));
  PlannedRunner planned(compile(planned_model));
  ComparisonJob job;
  job.runners = {&planned, &actual};
  job.model = &planned_model;
  struct Zeros : DataSource {
    bool given = false;
    std::optional<Sample> next() override {
      if (std::exchange(given, true)) return std::nullopt;
      return Sample{"zeros", {{"x", Tensor(ElementType::kUint8, {1, 16, 4, 4})}}, {}, {}};
    }
  } zeros;
  return run_and_compare(job, zeros);
}

TEST(PrecisionOfEngines, QuantizedResultsBesideATieAreNamedAndPass) {
  const auto report = compared(beside_ties(0), beside_ties(0, true));
  const auto& comparison = report.comparisons.at(0);
  EXPECT_EQ(comparison.verdict, Verdict::kPass);
  const auto& tensor = comparison.tensors.at(0);
  ASSERT_EQ(tensor.decisions.size(), 1U);
  EXPECT_EQ(tensor.decisions[0].node, "quantize");
  EXPECT_LE(tensor.decisions[0].margin, tensor.decisions[0].error);
  EXPECT_LT(tensor.decisions[0].error, 1e-3);
}

TEST(PrecisionOfEngines, QuantizedResultsThatDifferByMoreThanATieFail) {
  // The reference lies a thousandth of a step above the middles, which no rounding explains.
  constexpr double kThousandth = 1e-3 * 0.0234567;
  const auto report = compared(beside_ties(kThousandth), beside_ties(-kThousandth));
  EXPECT_EQ(report.comparisons.at(0).verdict, Verdict::kFail);
}

TEST(PrecisionOfEngines, APassThatIsForbiddenStopsTheBuild) {
  const Model model = conv_net();
  BuildOptions options = in_type(ElementType::kBFloat16);
  EXPECT_EQ(built(model, options), "built");
  options.passes.forbidden.insert(NumericalClass::kNarrowing);  // then all is f32, which is wider
  EXPECT_EQ(built(model, options), "built");
  options.precision.outputs = parse_layer_types("relu:bf16");
  EXPECT_THAT(built(model, options), HasSubstr("'relu'"));
}

TEST(PrecisionOfEngines, Int8NeedsRanges) {
  BuildOptions options;
  options.precision.int8 = true;
  EXPECT_THROW(compile(conv_net(), options), Error);
}

// Whatever asked for it, --int8 or a plan that was written before: the product is one of integers.
TEST(PrecisionOfEngines, APlanThatQuantizesNeedsNoOtherOption) {
  const Model model = conv_net();
  BuildOptions options;
  options.planned = declared_plan(*model.graph);
  const std::string before = print(compile(model, options)->graph());
  LayerPrecision& layer = options.planned->layers.at("conv_b");
  layer.compute = ElementType::kInt8;
  layer.accumulate = ElementType::kInt32;
  layer.quant = {{0, ElementType::kUint8, 0.01, 0}};
  const std::string by_plan = print(compile(model, options)->graph());
  EXPECT_NE(by_plan, before);
  options.precision.int8 = true;
  EXPECT_EQ(print(compile(model, options)->graph()), by_plan);
}

TEST(PrecisionOfEngines, ADeclaredHalfModelRunsAsItIsDeclared) {
  const Model model = parse_graph(R"(graph "g" (%x: f16[2, 8]) -> (%y) {
    %a: f32[*] = Cast(%x) {to = 1} version 13 @"cast" from ["cast"]
    %b: f32[*] = Softmax(%a) version 13 @"softmax" from ["softmax"]
    %y: f16[*] = Cast(%b) {to = 10} version 13 @"back" from ["back"]
  })");
  const auto engine = compile(model);
  EXPECT_EQ(engine->precision().layers.at("softmax").store, ElementType::kFloat);
  EXPECT_EQ(engine->precision().layers.at("back").store, ElementType::kFloat16);
  const auto data = random_data(*model.graph, 1);
  const auto expected = run_reference(model, data).outputs[0].tensor;
  EXPECT_TRUE(Session(engine).run(data).at("y").tensor.identical(expected));
}

}  // namespace
}  // namespace vernier

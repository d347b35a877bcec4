// Each tactic computes what its nodes mean, within the bound of its contract, and is really taken.
#include "isa/needs.h"
#include "isa/onednn_isa.h"
#include "passes/rewriting.h"
#include "vernier/backends/cpu/attention/block_attention.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"
#include "vernier/backends/cpu/winograd/winograd_walk.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"
#include "vernier/tune/trial.h"

namespace vernier {
namespace {

Tensor noise(Dims dims, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(element_count(dims)));
  for (float& value : values) value = normal(random);
  return Tensor::from(ElementType::kFloat, std::move(dims), values);
}

// The model with its constant %w of these sizes, at random.
Model with_weights(std::string graph, const Dims& weights) {
  const std::string placeholder = "WEIGHTS";
  graph.replace(graph.find(placeholder), placeholder.size(),
                ValueType::of(ElementType::kFloat, to_shape(weights)).text() + " hex\"" +
                    std::string(static_cast<size_t>(element_count(weights)) * 8, '0') + "\"");
  Model model = parse_graph(graph);
  for (const auto& value : model.graph->values()) {
    if (value->name == "w") value->constant = noise(weights, 3);
  }
  return model;
}

// Runs the model with the tactic; gives the relative L2 from the reference.
double distance_with(const Model& model, const Dims& input, const PlanChoices& choices,
                     const std::string& kernel) {
  const NamedData data{{"x", noise(input, 5)}};
  Compiler compiler(model);
  compiler.prepare({ValueType::of(ElementType::kFloat, to_shape(input))}, choices);
  const auto engine = compiler.engine();
  const Plan& plan = *engine->prepared()[0].plan;
  const Step* taken = nullptr;
  for (const Step& step : plan.steps) {
    if (step.kernel && step.kernel->name.find(kernel) != std::string::npos) taken = &step;
  }
  EXPECT_NE(taken, nullptr) << kernel;
  Session session(engine);
  const Tensor yielded = session.run(data).at("y").as_tensor();
  const auto actual = yielded.to_doubles();
  const auto expected = run_reference(model, data).outputs[0].as_tensor().to_doubles();
  double difference = 0, size = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  if (taken != nullptr && taken->node != nullptr) {
    std::vector<Tensor> operands;
    for (const Value* operand : taken->node->inputs)
      operands.push_back(operand->is_constant() ? *operand->constant : data.at("x").as_tensor());
    const auto expected_errors = ErrorModel(*taken->node, operands).outputs(taken->kernel->contract);
    const Deviation found = deviation(expected_errors.at(0), yielded);
    EXPECT_TRUE(found.is_rounding()) << taken->kernel->name << ": " << found.text();
  }
  return std::sqrt(difference / size);
}

TEST(Tactics, ProductsOfThreeBfloat16) {
  VERNIER_NEEDS(kAmx);
  const Model model = with_weights(R"(graph "g" (%x: f32[40, 100]) -> (%y) {
    const %w = WEIGHTS
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 14 @"r" from ["r"]
  })",
                                   {100, 72});
  const double plain = distance_with(model, {40, 100}, {}, "");
  const double split =
      distance_with(model, {40, 100}, {Layout::kChannelsLast, {{"y", cpu::kTwoTerms}}}, "bf16x3");
  EXPECT_GT(split, plain);
  EXPECT_LT(split, 1e-5);
}

constexpr const char* kConvolution = R"(graph "g" (%x: f32[1, 32, 14, 14]) -> (%y) {
    const %w = WEIGHTS
    %p: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 14 @"r" from ["r"]
  })";

TEST(Tactics, ConvolutionsOfThreeBfloat16) {
  VERNIER_NEEDS(kAmx);
  const Model model = with_weights(kConvolution, {48, 32, 3, 3});
  EXPECT_LT(distance_with(model, {1, 32, 14, 14}, {Layout::kChannelsLast, {{"y", cpu::kTwoTerms}}}, "bf16x3"),
            1e-5);
}

TEST(Tactics, SixProductsAreAsExactAsFloats) {
  VERNIER_NEEDS(kAmx);
  const Model model = with_weights(kConvolution, {48, 32, 3, 3});
  EXPECT_LT(
      distance_with(model, {1, 32, 14, 14}, {Layout::kChannelsLast, {{"y", cpu::kThreeTerms}}}, "bf16x6"),
      5e-7);
}

TEST(Tactics, Winograd) {
  if (!onednn_has(dnnl::cpu_isa::avx512_core)) GTEST_SKIP() << "needs oneDNN's kernels for AVX-512";
  const Model model = with_weights(kConvolution, {48, 32, 3, 3});
  EXPECT_LT(distance_with(model, {1, 32, 14, 14}, {Layout::kBlocked16, {{"y", "winograd"}}}, "wino"), 1e-5);
}

TEST(Tactics, WinogradOfChannelsLastImages) {
  VERNIER_NEEDS(kBf16);
  // In one pass, with what is added to the sums, and with what takes another one.
  const std::string ends[] = {R"(%y: f32[*] = Relu(%p) version 14 @"r" from ["r"])",
                              R"(%s: f32[*] = Add(%p, %x) version 14 @"s" from ["s"]
         %y: f32[*] = Relu(%s) version 14 @"r" from ["r"])",
                              R"(%y: f32[*] = Elu(%p) version 6 @"r" from ["r"])"};
  for (const std::string& end : ends) {
    const Model model = with_weights(R"(graph "g" (%x: f32[2, 48, 15, 14]) -> (%y) {
      const %w = WEIGHTS
      %p: f32[*] = Conv(%x, %w) {pads = ints[1, 1, 1, 1]} version 11 @"p" from ["p"]
      )" + end + "\n}",
                                     {48, 48, 3, 3});
    EXPECT_LT(distance_with(model, {2, 48, 15, 14}, {Layout::kChannelsLast, {{"y", cpu::kWinogradOfTwo}}},
                            "winograd:2x2"),
              1e-6);
    EXPECT_LT(distance_with(model, {2, 48, 15, 14}, {Layout::kChannelsLast, {{"y", cpu::kWinogradOfFour}}},
                            "winograd:4x4"),
              1e-5);
  }
}

TEST(Tactics, ProductsInVectors) {
  VERNIER_NEEDS(kBf16);
  const Model model = with_weights(R"(graph "g" (%x: f32[1, 48, 15, 14]) -> (%y) {
    const %w = WEIGHTS
    %p: f32[*] = Conv(%x, %w) version 11 @"p" from ["p"]
    %s: f32[*] = Add(%p, %x) version 14 @"s" from ["s"]
    %y: f32[*] = Relu(%s) version 14 @"r" from ["r"]
  })",
                                   {48, 48, 1, 1});
  EXPECT_LT(distance_with(model, {1, 48, 15, 14}, {Layout::kChannelsLast, {{"y", cpu::kVectorProducts}}},
                          "cpu:vectors"),
            1e-6);
}

TEST(Tactics, ATacticThatDoesNotApplyGivesWayToTheBackendsChoice) {
  const Model model = with_weights(kConvolution, {48, 32, 3, 3});
  const auto kernels = [&](const PlanChoices& choices) {
    Compiler compiler(model);
    compiler.prepare({ValueType::of(ElementType::kFloat, to_shape(Dims{1, 32, 14, 14}))}, choices);
    const auto engine = compiler.engine();
    std::vector<std::string> names;
    for (const Step& step : engine->prepared()[0].plan->steps)
      names.push_back(step.kernel ? step.kernel->name : "none");
    return names;
  };
  EXPECT_EQ(kernels({Layout::kChannelsLast, {{"y", "sideways"}}}), kernels({Layout::kChannelsLast, {}}));
}

// Gives what was tried for the only node of the model that has a choice.
TuneResult tried(const Model& model, const BuildOptions& options) {
  Compiler compiler(model, options);
  std::vector<ValueType> types;
  for (const Value* input : compiler.graph().inputs) types.push_back(input->type);
  compiler.prepare(types);
  const auto engine = compiler.engine();
  EXPECT_EQ(engine->tuning().results.size(), 1U);
  return engine->tuning().results.empty() ? TuneResult() : engine->tuning().results[0];
}

TEST(Tactics, AttentionInPartsIsTriedInBlocks) {
  VERNIER_NEEDS(kBf16);
  const char* tactic = cpu::kBFloat16Probabilities;
  BuildOptions options;
  options.precision.bf16 = true;
  const auto records =
      tried(parse_graph(R"(graph "g" (%q: f32[2, 256, 64], %k: f32[2, 256, 64], %v: f32[2, 256, 64]) -> (%y) {
    %t: f32[*] = Transpose(%k) {perm = ints[0, 2, 1]} version 13 @"t" from ["t"]
    %s: f32[*] = MatMul(%q, %t) version 13 @"s" from ["s"]
    %p: f32[*] = Softmax(%s) {axis = -1} version 13 @"p" from ["p"]
    %y: f32[*] = MatMul(%p, %v) version 13 @"y" from ["y"]
  })"),
            options)
          .records;
  ASSERT_TRUE(records.contains(tactic));
  EXPECT_EQ(records.at(tactic).quarantine, "");
  EXPECT_GT(records.at(tactic).seconds, 0);
}

// How many keys count is an operand in INT32, which must fit the sizes.
Model group_query_attention() {
  return parse_graph(R"(graph "g" (%q: f32[2, 96, 128], %k: f32[2, 96, 64], %v: f32[2, 96, 64],
      %pk: f32[2, 2, 32, 32], %pv: f32[2, 2, 32, 32], %last: i32[2]) -> (%y, %nk, %nv) {
    const %total = i32[1] hex"80000000"
    %y: f32[*], %nk: f32[*], %nv: f32[*] = com.microsoft::GroupQueryAttention(%q, %k, %v, %pk, %pv, %last, %total) {kv_num_heads = 2, num_heads = 4} version 1 @"a" from ["a"]
  })");
}

TEST(Tactics, GroupQueryAttentionIsTried) {
  VERNIER_NEEDS(kAmx);
  const auto records = tried(group_query_attention(), {}).records;
  for (const char* tactic : {"", cpu::kTwoTerms}) {
    ASSERT_TRUE(records.contains(tactic));
    EXPECT_EQ(records.at(tactic).quarantine, "");
    EXPECT_GT(records.at(tactic).seconds, 0);
  }
}

// Zeros, which plans are compared with, say that there are keys before the first.
TEST(Tactics, AModelThatTakesNoZerosIsBuilt) {
  VERNIER_NEEDS(kAmx);
  BuildOptions options;
  options.timing_cache = std::make_shared<TimingCache>(timing_device());
  TuneResult known = tried(group_query_attention(), options);
  TimingCache::Times times;
  for (const auto& [tactic, record] : known.records) times[tactic] = tactic.empty() ? 1 : 1.1;
  options.timing_cache->put(known.request, times);
  EXPECT_EQ(tried(group_query_attention(), options).chosen, "");
}

}  // namespace
}  // namespace vernier

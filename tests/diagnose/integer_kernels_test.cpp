#include "vernier/diagnose/experiments/integer_kernels.h"

#include "diagnose/diagnosed.h"
#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/under_test/unshown_regions.h"
#include "vernier/ops/group.h"

namespace vernier {
namespace {

double step_of(const Node& product, const Node& whole, const std::vector<Tensor>& inputs = {}) {
  return integer_sum_steps(whole, inputs)(product);
}

// The product is by itself, or with what dequantizes its weights, or all nodes are one.
std::shared_ptr<const Graph> product(const std::set<std::string>& shown) {
  const Model model = parse_graph(R"(graph "g" (%x: u8[2, 4], %s: f32[], %b: f32[3]) -> (%y) {
    const %w = i8[4, 3] hex"010203040506070801020304"
    const %t = f32[] hex"0000003f"
    %xr: f32[*] = DequantizeLinear(%x, %s) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %t) version 13 @"wd" from ["wd"]
    %y: f32[*] = Gemm(%xr, %wr, %b) version 13 @"p" from ["p"]
  })");
  return group_unshown(*model.graph, shown);
}

const Node& product_in(const Node& node) {
  return ops::is_group(node) ? *ops::body(node).nodes().back() : node;
}

TEST(IntegerKernels, SumsHaveTheStepOfBothScales) {
  const auto graph = product({});
  const Node& whole = *graph->nodes().back();
  ASSERT_TRUE(ops::is_group(whole));
  std::vector<Tensor> inputs(whole.inputs.size());
  EXPECT_EQ(step_of(product_in(whole), whole, inputs), 0);  // where a scale is not known
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (whole.inputs[i]->name == "s")
      inputs[i] = Tensor::from_doubles(ElementType::kFloat, {}, std::vector<double>{0.25});
  }
  EXPECT_EQ(step_of(product_in(whole), whole, inputs), 0.125);
  EXPECT_EQ(step_of(*ops::body(whole).nodes().front(), whole, inputs), 0);
}

// Whatever of a quantized product is shown, and so lies outside of its group, the step is the same.
TEST(IntegerKernels, SumsHaveTheirStepWhateverIsShown) {
  const char* text = R"(graph "g" (%x: u8[2, 4], %b: f32[3]) -> (%y) {
    const %w = i8[4, 3] hex"010203040506070801020304"
    const %t = f32[] hex"0000003f"
    %xr: f32[*] = DequantizeLinear(%x, %t) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %t) version 13 @"wd" from ["wd"]
    %y: f32[*] = Gemm(%xr, %wr, %b) version 13 @"p" from ["p"]
  })";
  const Model model = parse_graph(text);
  for (const std::set<std::string>& shown : {std::set<std::string>{}, {"xr"}, {"wr"}, {"xr", "wr"}}) {
    const auto graph = group_unshown(*model.graph, shown);
    const Node& last = *graph->nodes().back();
    EXPECT_EQ(step_of(product_in(last), last), 0.25) << shown.size();
  }
}

TEST(IntegerKernels, ABiasOfIntegersMovesNoSum) {
  const Model model = parse_graph(R"(graph "g" (%x: u8[2, 4], %w: i8[4, 3], %b: i32[3]) -> (%y) {
    const %s = f32[] hex"0000003f"
    %xr: f32[*] = DequantizeLinear(%x, %s) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %s) version 13 @"wd" from ["wd"]
    %br: f32[*] = DequantizeLinear(%b, %s) version 13 @"bd" from ["bd"]
    %y: f32[*] = Gemm(%xr, %wr, %br) version 13 @"p" from ["p"]
  })");
  const Node& gemm = *model.graph->nodes().back();
  EXPECT_EQ(step_of(gemm, gemm), 0);
}

// Two products of integers, the second of which reads codes that the first makes.
const char* const kTwoProducts = R"(graph "g" (%x: f32[8, 16]) -> (%y) {
    const %s = f32[] hex"0ad7233c"
    const %r = f32[] hex"cdcc4c3d"
    const %z = i8[] hex"00"
    const %w = i8[16, 16] %W
    const %t = f32[] hex"0ad7233c"
    const %b = f32[16] %B
    %xq: i8[*] = QuantizeLinear(%x, %s, %z) version 13 @"xq" from ["xq"]
    %xr: f32[*] = DequantizeLinear(%xq, %s, %z) version 13 @"xd" from ["xd"]
    %wr: f32[*] = DequantizeLinear(%w, %t, %z) version 13 @"wd" from ["wd"]
    %a: f32[*] = Gemm(%xr, %wr, %b) version 13 @"p" from ["p"]
    %aq: i8[*] = QuantizeLinear(%a, %r, %z) version 13 @"aq" from ["aq"]
    %ar: f32[*] = DequantizeLinear(%aq, %r, %z) version 13 @"ad" from ["ad"]
    %y: f32[*] = Gemm(%ar, %wr, %b) version 13 @"q" from ["q"]
  })";

std::string hex_of(const Tensor& tensor) {
  std::string text = "hex\"";
  for (const std::byte each : tensor.bytes()) text += fmt::format("{:02x}", static_cast<unsigned>(each));
  return text + "\"";
}

Model two_products() {
  std::string text = kTwoProducts;
  std::vector<double> weights(256), biases(16);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = std::round(100 * std::sin(1.7 * static_cast<double>(i)));
  for (size_t i = 0; i < biases.size(); ++i) biases[i] = 0.3 * std::cos(static_cast<double>(i));
  const auto put = [&](const char* mark, const Tensor& tensor) {
    text.replace(text.find(mark), 2, hex_of(tensor));
  };
  put("%W", Tensor::from_doubles(ElementType::kInt8, {16, 16}, weights));
  put("%B", Tensor::from_doubles(ElementType::kFloat, {16}, biases));
  return parse_graph(text);
}

// The nodes that are blamed where the biases of both products are rounded to so many steps of their sums, and
// these inner values are shown.
std::vector<std::string> blamed(double steps, const std::vector<std::string>& shown_values) {
  const Model model = two_products();
  Model engine = two_products();
  for (const auto& node : engine.graph->nodes()) {
    if (node->op != "Gemm") continue;
    const double step = steps * 0.01 * (node->name == "p" ? 0.01 : 0.05);
    auto biases = node->inputs[2]->constant->to_doubles();
    for (double& bias : biases) bias = std::round(bias / step) * step;
    node->inputs[2] = engine.graph->add_constant(node->name + "_bias",
                                                 Tensor::from_doubles(ElementType::kFloat, {16}, biases));
  }
  PlantedRunner runner(engine, nullptr);
  RunnerUnderTest tested(runner, model, nullptr);
  const NamedData inputs{{"x", wave({8, 16}, 0.7)}};
  ShowOptions options;
  options.values = shown_values;
  const ShownRun shown = tested.show(inputs, options);
  std::vector<std::string> names;
  for (const FlaggedNode& flagged : check_on_own_inputs(tested, shown, inputs).flagged_nodes)
    names.push_back(onnx_nodes_of(*flagged.node).back());
  return names;
}

// Optimisers store a bias in integers for kernels of integers, whether the rest of the fusion holds or not.
TEST(IntegerKernels, ABiasInStepsOfTheSumsIsNoFault) {
  const std::vector<std::string> all{"xq", "xr", "wr", "a", "aq", "ar"},
      without_weights{"xq", "xr", "a", "aq", "ar"};
  EXPECT_THAT(blamed(1, all), testing::IsEmpty());
  EXPECT_THAT(blamed(1, without_weights), testing::IsEmpty());
  EXPECT_THAT(blamed(1, {"xr"}), testing::IsEmpty());  // codes in between that nobody sees are a step off
  EXPECT_THAT(blamed(1, {}), testing::IsEmpty());
}

TEST(IntegerKernels, ABiasInCoarserStepsIsAFault) {
  for (const std::vector<std::string>& shown : {std::vector<std::string>{"xq", "xr", "wr", "a", "aq", "ar"},
                                                {"xq", "xr", "a", "aq", "ar"},
                                                {"xr"},
                                                {}})
    EXPECT_THAT(blamed(64, shown), testing::Not(testing::IsEmpty())) << shown.size();
}

TEST(IntegerKernels, OnlyThoseThatSumIntegersRoundTheBias) {
  NumericsContract contract;
  contract.accumulated = ElementType::kInt32;
  EXPECT_TRUE(may_sum_integers(&contract));
  EXPECT_TRUE(may_sum_integers(nullptr));
  contract.accumulated = ElementType::kFloat;
  EXPECT_FALSE(may_sum_integers(&contract));
}

constexpr const char* kQuantizer = R"(graph "g" (%x: f32[1, 256]) -> (%y) {
    const %s = f32[] hex"0000003f"
    const %z = i8[] hex"00"
    %y: i8[*] = QuantizeLinear(%x, %s, %z) version 13 @"q" from ["q"]
  })";

// Every other one lies on a tie of codes, which are twice these.
NamedData quarters() {
  std::vector<double> values;
  for (int i = 0; i < 256; ++i) values.push_back((i - 128) * 0.25);
  return {{"x", Tensor::from_doubles(ElementType::kFloat, {1, 256}, values)}};
}

// Makes codes by `rule` of what is to be rounded, and of its place.
Plant codes_by(const std::function<double(double real, size_t place)>& rule) {
  return [rule](const Node&, std::span<const Datum* const> operands, std::vector<Datum>& results) {
    auto values = operands[0]->tensor.to_doubles();
    for (size_t i = 0; i < values.size(); ++i) values[i] = rule(values[i] * 2, i);
    results[0] = Tensor::from_doubles(ElementType::kInt8, results[0].tensor.dims(), values);
  };
}

std::string sentence_of(const NamedData& inputs, const Plant& plant) {
  const Diagnosis diagnosis = diagnosed(kQuantizer, inputs, plant);
  return diagnosis.root_causes.empty() ? "none" : diagnosis.root_causes.front().sentence;
}

TEST(IntegerKernels, TiesThatAreAllRoundedOtherwiseAreNoChance) {
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t) { return std::floor(real + 0.5); })),
            "'q': ties are rounded up");
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t) { return std::round(real); })),
            "'q': ties are rounded away from zero");
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t) { return std::nearbyint(real); })),
            "none");
  // Numbers that lie there by chance are rounded either way.
  EXPECT_EQ(sentence_of(quarters(), codes_by([](double real, size_t place) {
                          return std::nearbyint(real + (place % 3 == 0 ? 1e-3 : -1e-3));
                        })),
            "none");
}

// Sums of integers move a number over a tie that it lies beside, and one that lies on a tie as well.
TEST(IntegerKernels, AFewStepsBesideTiesAreNoFault) {
  NamedData inputs = quarters();
  auto values = inputs.at("x").tensor.mutable_values<float>();
  values[10] = 29.50004F / 2;
  values[20] = 12.49996F / 2;
  const auto moved = [](size_t also) {
    return codes_by([also](double real, size_t place) {
      if (place == 10) return 29.0;
      if (place == 20) return 13.0;
      return place == also ? std::floor(real + 0.5) : std::nearbyint(real);
    });
  };
  EXPECT_EQ(sentence_of(inputs, moved(10)), "none");
  EXPECT_EQ(sentence_of(inputs, moved(129)), "none");
  values[30] = 12.4F / 2;  // not beside a tie
  EXPECT_NE(sentence_of(inputs, codes_by([](double real, size_t place) {
                          return std::nearbyint(real) + (place == 30 ? 1 : 0);
                        })),
            "none");
}

}  // namespace
}  // namespace vernier

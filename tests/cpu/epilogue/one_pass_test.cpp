// Convolutions of bfloat16 whose sums end in one pass: in registers, or block by block.
#include <numbers>
#include <regex>

#include "isa/needs.h"
#include "passes/rewriting.h"
#include "vernier/backends/cpu/depthwise/depthwise_vector_loops.h"
#include "vernier/backends/cpu/epilogue/tile_store.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

using cpu::kBlockColumns;

// Applies the epilogue to an accumulator x, as stored.
float stored(float x, cpu::RowGate gate, float swish = 1) {
  std::array<float, kBlockColumns> sums{}, bias{};
  std::array<uint16_t, kBlockColumns> y{};
  sums[3] = x;
  cpu::TileStore store{sums.data(), bias.data(), nullptr, y.data(), kBlockColumns, 1, kBlockColumns, true};
  store.end.gate = gate;
  store.end.swish = swish;
  cpu::store_tiles(store);
  return std::bit_cast<float>(static_cast<uint32_t>(y[3]) << 16);
}

// Half an ulp of bfloat16, and what the short functions are off.
constexpr double kRelative = 0x1p-8 + 0x1p-12;

class OnePassGates : public testing::Test {
 protected:
  void SetUp() override { VERNIER_NEEDS(kBf16); }
};

TEST_F(OnePassGates, EndsOfTheScale) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto gate : {cpu::RowGate::kSwish, cpu::RowGate::kGelu, cpu::RowGate::kGeluTanh}) {
    EXPECT_EQ(stored(0, gate), 0);
    EXPECT_EQ(stored(1000, gate), 1000);
    EXPECT_EQ(stored(kInfinity, gate), kInfinity);
    EXPECT_NEAR(stored(-1e30F, gate), 0, 1e-30);
    EXPECT_TRUE(std::isnan(stored(std::nanf(""), gate)));
  }
}

TEST_F(OnePassGates, SwishIsRoundedToBfloat16) {
  for (const float alpha : {1.0F, 1.702F, -0.5F}) {
    for (double at = -45; at < 45; at += 0.0371) {
      const auto x = static_cast<float>(at);
      const double exact = x / (1 + std::exp(-static_cast<double>(alpha) * x));
      EXPECT_NEAR(stored(x, cpu::RowGate::kSwish, alpha), exact, std::abs(exact) * kRelative);
    }
  }
}

TEST_F(OnePassGates, SwishOfFloatsIsAsGoodAsFloats) {
  const auto swish = [](float x, float alpha) {
    std::array<float, kBlockColumns> sums{}, bias{}, y{};
    sums[3] = x;
    cpu::TileStore store{sums.data(), bias.data(), nullptr, y.data(), kBlockColumns, 1, kBlockColumns, false};
    store.end.gate = cpu::RowGate::kSwish;
    store.end.swish = alpha;
    cpu::store_tiles(store);
    return y[3];
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(swish(0, 1), 0);
  EXPECT_EQ(swish(1000, 1), 1000);
  EXPECT_EQ(swish(kInfinity, 1), kInfinity);
  EXPECT_EQ(swish(-1e30F, 1), 0);
  EXPECT_TRUE(std::isnan(swish(-kInfinity, 1)));  // it times 0
  EXPECT_TRUE(std::isnan(swish(std::nanf(""), 1)));
  for (const float alpha : {1.0F, 1.702F, -0.5F}) {
    for (double at = -45; at < 45; at += 0.0371) {
      const auto x = static_cast<float>(at);
      const double exact = x / (1 + std::exp(-static_cast<double>(alpha) * x));
      // The exponent is rounded once, and so moves its power by up to half an ulp of it.
      EXPECT_NEAR(swish(x, alpha), exact, std::abs(exact) * (0x1p-21 + std::abs(alpha * at) * 0x1p-24)) << x;
    }
  }
}

TEST_F(OnePassGates, GeluIsRoundedToBfloat16) {
  for (double at = -45; at < 45; at += 0.0371) {
    const auto x = static_cast<float>(at);
    const double exact = 0.5 * x * std::erfc(-static_cast<double>(x) * std::numbers::sqrt2 / 2);
    // Where hardly anything is left, it is not followed to its last digits.
    EXPECT_NEAR(stored(x, cpu::RowGate::kGelu), exact, std::abs(exact) * kRelative + 1e-7) << x;
  }
}

TEST_F(OnePassGates, GeluByTanhIsRoundedToBfloat16) {
  for (double at = -5; at < 45; at += 0.0371) {
    const double x = static_cast<float>(at);
    const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
    const double exact = x / (1 + std::exp(-2 * inner));
    EXPECT_NEAR(stored(static_cast<float>(x), cpu::RowGate::kGeluTanh), exact, std::abs(exact) * kRelative)
        << x;
  }
}

// A convolution of an element type with `end`, which makes %y of %c.
Model convolution(int64_t channels, const Dims& weights, int64_t group, const std::string& end,
                  ElementType element = ElementType::kBFloat16) {
  const auto constant = [&](const std::string& name, const Dims& dims) {
    return "const %" + name + " = " + ValueType::of(element, to_shape(dims)).text() + " hex\"" +
           std::string(static_cast<size_t>(element_count(dims)) * element_size(element) * 2, '0') + "\"\n";
  };
  std::string text =
      "graph \"g\" (%x: bf16[1, " + std::to_string(channels) + ", 14, 13]) -> (%y) {\n" +
      constant("w", weights) + constant("b", {weights[0]}) +
      "const %low = bf16[] hex\"00bf\"\n const %high = bf16[] hex\"c03f\"\n" +  // -0.5, 1.5
      "%c: bf16[*] = Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1], group = " + std::to_string(group) +
      "} version 11 @\"c\" from [\"c\"]\n" + end + "\n}";
  if (element == ElementType::kFloat) {
    text = std::regex_replace(text, std::regex(R"(bf16\[\] hex")"), "f32[] hex\"0000");
    text = std::regex_replace(text, std::regex("bf16"), "f32");
  }
  Model model = parse_graph(text);
  for (const auto& value : model.graph->values()) {
    if (value->name != "w" && value->name != "b") continue;
    std::mt19937_64 random(value->name[0]);
    std::normal_distribution<double> normal(0, value->name == "w" ? 0.3 : 1);
    std::vector<double> numbers(static_cast<size_t>(value->constant->size()));
    for (double& each : numbers) each = normal(random);
    value->constant = Tensor::from_doubles(element, value->constant->dims(), numbers);
  }
  return model;
}

// Runs the convolution by the tactic, and makes sure that it is this kernel.
void expect(const Model& model, const std::string& tactic, const std::string& kernel,
            double tolerance = 0x1p-6) {
  const NamedData data = random_data(*model.graph, 5);
  Compiler compiler(model);
  const PlanChoices choices{Layout::kChannelsLast, {{"y", tactic}}};
  compiler.prepare({model.graph->inputs[0]->type}, choices);
  const auto engine = compiler.engine();
  int taken = 0;
  for (const Step& step : engine->prepared()[0].plan->steps)
    taken += step.kernel && step.kernel->name == kernel ? 1 : 0;
  EXPECT_EQ(taken, 1) << kernel;
  Session session(engine);
  const auto actual = session.run(data).at("y").as_tensor().to_doubles();
  const auto expected = run_reference(model, data).outputs[0].as_tensor().to_doubles();
  // The reference rounds between the operators; a clamped number near 0 is a difference of larger ones.
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance * std::max(0.25, std::abs(expected[i])))
        << kernel << " " << i;
}

const std::vector<std::string> kEnds = {
    R"(%y: bf16[*] = Clip(%c, %low, %high) version 13 @"e" from ["e"])",
    R"(%y: bf16[*] = Swish(%c) version 24 @"e" from ["e"])",
    R"(%s: bf16[*] = Sigmoid(%c) version 13 @"s" from ["s"]
       %y: bf16[*] = Mul(%c, %s) version 14 @"e" from ["e"])",
};

TEST(OnePass, DepthwiseEndsInRegisters) {
  VERNIER_NEEDS(kBf16);
  for (const std::string& end : kEnds)
    expect(convolution(72, {72, 1, 3, 3}, 72, end), "depthwise", "cpu:depthwise:bf16");
}

TEST(OnePass, DepthwiseOfFloatsEndsInRegisters) {
  for (const std::string& end : kEnds)
    expect(convolution(72, {72, 1, 3, 3}, 72, end, ElementType::kFloat), "depthwise",
           cpu::has_depthwise_vectors(3, 1, 1) ? "cpu:depthwise:vectors" : "cpu:depthwise", 1e-5);
}

TEST(OnePass, TilesEndBlockByBlock) {
  VERNIER_NEEDS(kAmx);
  std::vector<std::string> ends = kEnds;
  ends.emplace_back(R"(%y: bf16[*] = Gelu(%c) version 20 @"e" from ["e"])");
  ends.emplace_back(R"(%y: bf16[*] = Gelu(%c) {approximate = "tanh"} version 20 @"e" from ["e"])");
  for (const std::string& end : ends)
    expect(convolution(40, {72, 40, 3, 3}, 1, end), "tiles", "cpu:tiles:tiles");
}

}  // namespace
}  // namespace vernier

// Convolutions of bfloat16 whose sums end in one pass: in registers, or block by block.
#include "passes/rewriting.h"
#include "vernier/backends/cpu/kernels/depthwise_bf16_loops.h"
#include "vernier/backends/cpu/tiles/tile_block.h"
#include "vernier/backends/cpu/tiles/tile_store.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

using cpu::kBlockColumns;

// y = x * sigmoid(alpha * x), as stored.
float stored_swish(float x, float alpha) {
  std::array<float, kBlockColumns> sums{}, bias{};
  std::array<uint16_t, kBlockColumns> y{};
  sums[3] = x;
  cpu::TileStore store{sums.data(), bias.data(), nullptr, y.data(), kBlockColumns, 1, kBlockColumns, true};
  store.end.swish = alpha;
  cpu::store_tiles(store);
  return std::bit_cast<float>(static_cast<uint32_t>(y[3]) << 16);
}

TEST(OnePass, SwishIsRoundedToBfloat16) {
  if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "this processor has no tiles of bfloat16";
  for (const float alpha : {1.0F, 1.702F, -0.5F}) {
    for (double x = -45; x < 45; x += 0.0371) {
      const auto exact = static_cast<double>(static_cast<float>(x)) /
                         (1 + std::exp(-static_cast<double>(alpha) * static_cast<float>(x)));
      // Half an ulp of bfloat16, and what the short function is off.
      EXPECT_NEAR(stored_swish(static_cast<float>(x), alpha), exact, std::abs(exact) * (0x1p-8 + 0x1p-12));
    }
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(stored_swish(0, 1), 0);
  EXPECT_EQ(stored_swish(1000, 1), 1000);
  EXPECT_EQ(stored_swish(kInfinity, 1), kInfinity);
  EXPECT_NEAR(stored_swish(-1e30F, 1), 0, 1e-30);
  EXPECT_TRUE(std::isnan(stored_swish(std::nanf(""), 1)));
}

// A convolution of bfloat16 with `end`, which makes %y of %c.
Model convolution(int64_t channels, const Dims& weights, int64_t group, const std::string& end) {
  const auto constant = [](const std::string& name, const Dims& dims) {
    return "const %" + name + " = " + ValueType::of(ElementType::kBFloat16, to_shape(dims)).text() +
           " hex\"" + std::string(static_cast<size_t>(element_count(dims)) * 4, '0') + "\"\n";
  };
  Model model = parse_graph(
      "graph \"g\" (%x: bf16[1, " + std::to_string(channels) + ", 14, 13]) -> (%y) {\n" +
      constant("w", weights) + constant("b", {weights[0]}) +
      "const %low = bf16[] hex\"00bf\"\n const %high = bf16[] hex\"c03f\"\n" +  // -0.5, 1.5
      "%c: bf16[*] = Conv(%x, %w, %b) {pads = ints[1, 1, 1, 1], group = " + std::to_string(group) +
      "} version 11 @\"c\" from [\"c\"]\n" + end + "\n}");
  for (const auto& value : model.graph->values()) {
    if (value->name != "w" && value->name != "b") continue;
    std::mt19937_64 random(value->name[0]);
    std::normal_distribution<double> normal(0, value->name == "w" ? 0.3 : 1);
    std::vector<double> numbers(static_cast<size_t>(value->constant->size()));
    for (double& each : numbers) each = normal(random);
    value->constant = Tensor::from_doubles(ElementType::kBFloat16, value->constant->dims(), numbers);
  }
  return model;
}

// Runs the convolution by the tactic, and makes sure that it is this kernel.
void expect(const Model& model, const std::string& tactic, const std::string& kernel) {
  const NamedData data = random_data(*model.graph, 5);
  const auto engine = Engine::build(model);
  const PlanChoices choices{Layout::kChannelsLast, {{"y", tactic}}};
  engine->prepare({model.graph->inputs[0]->type}, &choices);
  int taken = 0;
  for (const Step& step : engine->prepared()[0].plan->steps)
    taken += step.kernel && step.kernel->name == kernel ? 1 : 0;
  EXPECT_EQ(taken, 1) << kernel;
  Session session(engine);
  const auto actual = session.run(data).at("y").as_tensor().to_doubles();
  const auto expected = run_reference(model, data).outputs[0].as_tensor().to_doubles();
  // The reference rounds between the operators; a clamped number near 0 is a difference of larger ones.
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], 0x1p-6 * std::max(0.25, std::abs(expected[i]))) << kernel << " " << i;
}

const std::vector<std::string> kEnds = {
    R"(%y: bf16[*] = Clip(%c, %low, %high) version 13 @"e" from ["e"])",
    R"(%y: bf16[*] = Swish(%c) version 24 @"e" from ["e"])",
    R"(%s: bf16[*] = Sigmoid(%c) version 13 @"s" from ["s"]
       %y: bf16[*] = Mul(%c, %s) version 14 @"e" from ["e"])",
};

TEST(OnePass, DepthwiseEndsInRegisters) {
  if (!cpu::has_depthwise_bf16(3, 1, 1)) GTEST_SKIP() << "this processor has no vectors of bfloat16";
  for (const std::string& end : kEnds)
    expect(convolution(72, {72, 1, 3, 3}, 72, end), "depthwise", "cpu:depthwise:bf16");
}

TEST(OnePass, TilesEndBlockByBlock) {
  if (!cpu::has_bf16_tiles()) GTEST_SKIP() << "this processor has no tiles of bfloat16";
  for (const std::string& end : kEnds)
    expect(convolution(40, {72, 40, 3, 3}, 1, end), "tiles", "cpu:tiles:tiles");
}

}  // namespace
}  // namespace vernier

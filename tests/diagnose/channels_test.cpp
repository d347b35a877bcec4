// Weights of other channels, where a result has too few positions for them to be fitted.
#include "diagnose/diagnosed.h"

namespace vernier {
namespace {

const NamedData kImage{{"x", wave({1, 3, 4, 4}, 0.7)}};

// With a Relu behind it, where that is asked for.
std::string network(bool relu = false) {
  std::string weights;
  const auto values = wave({6, 3, 3, 3}, 1.3).to_doubles();
  for (const double value : values) {
    const auto single = static_cast<float>(value);
    const auto* bytes = reinterpret_cast<const unsigned char*>(&single);
    for (size_t i = 0; i < sizeof single; ++i) weights += fmt::format("{:02x}", bytes[i]);
  }
  return fmt::format(R"(graph "g" (%x: f32[1, 3, 4, 4]) -> (%y) {{
    const %w = f32[6, 3, 3, 3] hex"{2}"
    const %b = f32[6] hex"0000803f000000400000803e000000bf0000803f0000c03f"
    %{0}: f32[*] = Conv(%x, %w, %b) version 11 @"conv" from ["conv"]
    {1}
  }})",
                     relu ? "c" : "y",
                     relu ? R"(%y: f32[*] = Relu(%c) version 14 @"relu" from ["relu"])" : "", weights);
}

// Puts channel `from` of the result of the node, which has 4 positions, into channel `to`; -1: a number.
Plant with_channel(const std::string& name, std::vector<std::pair<int, int>> moves, double number = 0) {
  return [=](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (node.name != name) return;
    const Tensor& right = results[0].tensor;
    const auto values = right.to_doubles();
    auto made = values;
    for (const auto& [from, to] : moves) {
      for (int i = 0; i < 4; ++i)
        made[static_cast<size_t>(4 * to + i)] = from < 0 ? number : values[static_cast<size_t>(4 * from + i)];
    }
    results[0] = Tensor::from_doubles(right.type(), right.dims(), made);
  };
}

std::string sentence_of(const Diagnosis& found) {
  return found.root_causes.empty() ? found.sentence : found.root_causes[0].sentence;
}

TEST(Channels, AreExchanged) {
  const auto found = diagnosed(network(), kImage, with_channel("conv", {{1, 4}, {4, 1}}));
  EXPECT_EQ(first_of(found), "B47 at conv");
  EXPECT_NE(sentence_of(found).find("its output channels are exchanged"), std::string::npos)
      << sentence_of(found);
}

TEST(Channels, HaveNoWeights) {
  const auto found = diagnosed(network(), kImage, with_channel("conv", {{-1, 3}}, -0.5));
  EXPECT_EQ(first_of(found), "B47 at conv");
  EXPECT_NE(sentence_of(found).find("the weights of 1 of its 6 output channels are zero"), std::string::npos)
      << sentence_of(found);
}

// Nobody shows what the product makes.
class OutputsOnly : public PlantedRunner {
 public:
  using PlantedRunner::PlantedRunner;
  Trace run(const NamedData& inputs, const std::vector<std::string>&) override {
    return PlantedRunner::run(inputs, {});
  }
};

TEST(Channels, AreExchangedInsideOfAKernel) {
  const Model model = parse_graph(network(true));
  OutputsOnly runner(model, with_channel("conv", {{0, 3}, {3, 5}, {5, 0}}));
  const Diagnosis found = diagnosed(model, runner, kImage);
  EXPECT_EQ(first_of(found), "B47 at conv") << sentence_of(found);
}

// Another number than the bias is not what is left without weights.
TEST(Channels, AreNotWithoutWeightsWhereTheyAreAnotherNumber) {
  const auto found = diagnosed(network(), kImage, with_channel("conv", {{-1, 3}}, 0.7));
  EXPECT_EQ(sentence_of(found).find("output channels"), std::string::npos) << sentence_of(found);
}

}  // namespace
}  // namespace vernier

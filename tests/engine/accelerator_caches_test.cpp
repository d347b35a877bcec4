// Caches of an accelerator: in its memory, where they stay from token to token, or in that of the host.
#include "engine/cached_text.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/compile/compiler.h"

namespace vernier {
namespace {

std::shared_ptr<const Engine> simulated_engine(const Model& model, const std::set<std::string>& lacks = {},
                                               uint64_t seed = 7) {
  BuildOptions options;
  options.accelerators = {simulated::make_driver({.seed = seed, .streams = 3, .lacks = lacks})};
  return compile(model, options);
}

constexpr int64_t kAllRows = 42;  // that expect_as_without comes to

TEST(AcceleratorCaches, HoldWhatARunWithoutThemYields) {
  for (const Model& model : {decoder(), onnx_attention(), microsoft_attention(), grouped_attention()}) {
    for (const int64_t capacity : {kAllRows, int64_t{64}})
      expect_as_without(model, simulated_engine(model), 2, 0, CachesLie::kOnTheDevice, capacity);
  }
}

// New rows in front of the old ones, and so in another order of steps: what reads the past does so before.
TEST(AcceleratorCaches, TakeWhatIsNotPutBehindThePastAsACopy) {
  const Model model = other_way();
  for (const uint64_t seed : {1, 2, 3, 4, 5})
    expect_as_without(model, simulated_engine(model, {}, seed), 2, 4, CachesLie::kOnTheDevice);
}

// Whatever the order of streams, nobody writes into a cache while another reads it.
TEST(AcceleratorCaches, AreWrittenWhenNobodyReadsThem) {
  const Model model = looking_back();
  for (const uint64_t seed : {1, 2, 3, 4, 5})
    expect_as_without(model, simulated_engine(model, {}, seed), 2, 0, CachesLie::kOnTheDevice);
}

// A step that the accelerator leaves to the host reads a copy, and its present is copied back.
TEST(AcceleratorCaches, ServeStepsOfTheHost) {
  const Model model = onnx_attention();
  expect_as_without(model, simulated_engine(model, {"Attention"}), 2, 4, CachesLie::kOnTheDevice);
}

// Bytes between host and accelerator for a token behind so many rows.
size_t bytes_of_a_token(const Model& model, CachesLie where, int64_t rows) {
  const auto engine = simulated_engine(model);
  const auto& device = dynamic_cast<simulated::SimulatedDevice&>(*preferred_device(*engine).device);
  const int64_t width = *model.graph->inputs[0]->type.tensor.shape->back().constant();
  Text text(engine, 1, 64, where);
  text.run(noise({1, rows, width}, 1, 1));
  text.run(noise({1, 1, width}, 2, 1));  // constants have been copied from here on
  const size_t before = device.copied_bytes();
  text.run(noise({1, 1, width}, 3, 1));
  return device.copied_bytes() - before;
}

TEST(AcceleratorCaches, NoRowsAreCopiedFromTokenToToken) {
  constexpr size_t kRow = kHeads * kSize * sizeof(float);
  for (const Model& model : {decoder(), onnx_attention(), microsoft_attention()}) {
    // A token goes there, and what was made of it comes back.
    EXPECT_EQ(bytes_of_a_token(model, CachesLie::kOnTheDevice, 5), 2 * kRow);
    EXPECT_EQ(bytes_of_a_token(model, CachesLie::kOnTheDevice, 50), 2 * kRow);
    // Keys and values of all rows go there, and come back with one more.
    EXPECT_EQ(bytes_of_a_token(model, CachesLie::kOnTheHost, 5), 2 * kRow + 2 * (6 + 7) * kRow);
    EXPECT_EQ(bytes_of_a_token(model, CachesLie::kOnTheHost, 50), 2 * kRow + 2 * (51 + 52) * kRow);
  }
}

TEST(AcceleratorCaches, MayLieOnTheHost) {
  for (const Model& model : {decoder(), onnx_attention()}) {
    expect_as_without(model, simulated_engine(model), 2, 4);
  }
}

}  // namespace
}  // namespace vernier

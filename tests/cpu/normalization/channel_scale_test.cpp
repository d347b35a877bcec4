// Images of bfloat16 times factors for their channels, against the reference, bit for bit.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/normalization/channel_scale_loops.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:channel_scale";

Tensor numbers(Dims dims, unsigned seed) {
  return random_tensor(ElementType::kBFloat16, std::move(dims), seed, false);
}

OneKernel product(const Dims& a, const Dims& b) {
  return {.node = {"Mul", 14, {}}, .inputs = {numbers(a, 1), numbers(b, 2)}, .layout = Layout::kChannelsLast};
}

TEST(ChannelScale, ImagesAndChannels) {
  VERNIER_NEEDS(kBf16);
  for (const int64_t channels : {1, 19, 32, 72, 672}) {
    SCOPED_TRACE(channels);
    product({1, channels, 9, 7}, {1, channels, 1, 1}).expect(kName);
    product({3, channels, 1, 1}, {3, channels, 5, 30}).expect(kName);
    product({2, channels, 11}, {2, channels, 1}).expect(kName);
  }
  auto special = product({1, 40, 3, 3}, {1, 40, 1, 1});
  auto x = special.inputs[0].to_doubles();
  x[0] = HUGE_VAL;
  x[9] = std::nan("");
  special.inputs[0] = Tensor::from_doubles(ElementType::kBFloat16, special.inputs[0].dims(), x);
  special.tolerance = 1e-9;  // of any NaN
  special.expect(kName);
}

TEST(ChannelScale, OtherProductsAreLeftToOthers) {
  for (const Dims& other : {Dims{1, 40, 3, 3}, Dims{1, 40, 1, 3}, Dims{1, 1, 3, 3}, Dims{40, 1, 1}}) {
    std::string name;
    EXPECT_TRUE(product({1, 40, 3, 3}, other).run(&name));
    EXPECT_NE(name, kName);
  }
  std::string name;
  EXPECT_TRUE(product({2, 40, 3, 3}, {1, 40, 1, 1}).run(&name));
  EXPECT_NE(name, kName);
}

}  // namespace
}  // namespace vernier::cpu

#include "vernier/tensor/jitter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "vernier/base/threads.h"

namespace vernier {
namespace {

constexpr int64_t kElements = 100000;  // several blocks, the last of which is not full

Tensor ones(ElementType type) {
  return Tensor::from_doubles(type, {kElements}, std::vector<double>(kElements, 1.0));
}

template <class Draw>
void expect_same_for_all_threads(const Draw& draw) {
  std::vector<Tensor> drawn;
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    drawn.push_back(draw(1));
  }
  set_thread_count(0);
  EXPECT_TRUE(drawn[0].identical(drawn[1]));
  EXPECT_FALSE(drawn[0].identical(draw(2)));
}

TEST(Jitter, DependsOnTheSeedAlone) {
  const Tensor f32 = ones(ElementType::kFloat), bf16 = ones(ElementType::kBFloat16);
  expect_same_for_all_threads([&](uint64_t seed) { return jittered(f32, seed); });
  expect_same_for_all_threads([&](uint64_t seed) { return with_sum_noise(f32, 64, seed); });
  expect_same_for_all_threads([&](uint64_t seed) { return with_rounding_flips(bf16, 64, seed); });
}

TEST(Jitter, MovesByAnUlpOrNot) {
  int64_t less = 0, same = 0, more = 0;
  const Tensor moved = jittered(ones(ElementType::kFloat), 1);
  for (const float value : moved.values<float>()) {
    less += value == std::nextafter(1.0F, 0.0F);
    same += value == 1.0F;
    more += value == std::nextafter(1.0F, 2.0F);
  }
  EXPECT_EQ(less + same + more, kElements);
  for (const int64_t count : {less, same, more})
    EXPECT_NEAR(static_cast<double>(count), kElements / 3.0, kElements / 50.0);
}

TEST(Jitter, SumNoiseHasTheDeviationItSays) {
  const double terms = 256, deviation = std::sqrt(terms) / 4 * 0x1p-23;
  double sum = 0, squares = 0;
  const Tensor moved = with_sum_noise(ones(ElementType::kFloat), terms, 1);
  for (const float value : moved.values<float>()) {
    const double moved_by = static_cast<double>(value) - 1;
    sum += moved_by;
    squares += moved_by * moved_by;
  }
  EXPECT_NEAR(sum / kElements, 0, deviation / 20);
  EXPECT_NEAR(std::sqrt(squares / kElements), deviation, deviation / 10);
}

// Each block has numbers of its own.
TEST(Jitter, BlocksDiffer) {
  const Tensor moved = with_sum_noise(ones(ElementType::kFloat), 64, 1);
  const auto values = moved.values<float>();
  for (size_t period = 1 << 10; period < values.size() / 2; period *= 2)
    EXPECT_FALSE(std::equal(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(period),
                            values.begin() + static_cast<std::ptrdiff_t>(period)));
}

}  // namespace
}  // namespace vernier

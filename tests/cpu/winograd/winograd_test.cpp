// Winograd's convolutions with own vectors: every shape of tile, block and share, and what follows the sums.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/winograd/winograd_transform.h"
#include "vernier/backends/cpu/winograd/winograd_walk.h"

namespace vernier::cpu {
namespace {

std::vector<float> floats(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float& value : result) value = normal(random);
  return result;
}

Tensor noise(const Dims& dims, unsigned seed, ElementType element = ElementType::kFloat) {
  const auto values = floats(static_cast<size_t>(element_count(dims)), seed);
  const auto tensor = Tensor::from(ElementType::kFloat, dims, values);
  return element == ElementType::kFloat ? tensor : Tensor::from_doubles(element, dims, tensor.to_doubles());
}

double distance(const std::vector<double>& expected, const std::vector<double>& actual) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (actual[i] - expected[i]) * (actual[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(difference / size);
}

struct Way {
  const char* tactic;
  ElementType element;
  double bound;  // relative L2
};

void PrintTo(const Way& way, std::ostream* out) {
  *out << way.tactic << " of " << element_type_short_name(way.element);
}

class Winograd : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override { VERNIER_NEEDS(kBf16); }

  static OneKernel convolution(const Dims& x, const Dims& w, const std::vector<int64_t>& pads, bool bias) {
    const ElementType element = GetParam().element;
    OneKernel kernel{{"Conv", 11, {{"pads", Attribute(pads)}}},
                     {noise(x, 1, element), noise(w, 2, element)},
                     {1},
                     Layout::kChannelsLast};
    kernel.tactic = GetParam().tactic;
    if (!bias) return kernel;
    kernel.inputs.push_back(noise({w[0]}, 3, element));
    kernel.constants.insert(2);
    return kernel;
  }
};

TEST_P(Winograd, Convolutions) {
  struct {
    Dims x, w;
    std::vector<int64_t> pads;
  } const cases[] = {
      {{1, 16, 8, 8}, {32, 16, 3, 3}, {1, 1, 1, 1}},     {{2, 48, 7, 9}, {40, 48, 3, 3}, {1, 1, 1, 1}},
      {{1, 32, 14, 13}, {16, 32, 3, 3}, {0, 0, 0, 0}},   {{3, 16, 5, 30}, {72, 16, 3, 3}, {2, 0, 1, 2}},
      {{1, 16, 1, 1}, {32, 16, 3, 3}, {1, 1, 1, 1}},     {{1, 16, 3, 2}, {33, 16, 3, 3}, {2, 2, 2, 2}},
      {{1, 64, 56, 57}, {64, 64, 3, 3}, {1, 1, 1, 1}},    // several groups of lines
      {{1, 256, 6, 6}, {160, 256, 3, 3}, {1, 1, 1, 1}},   // shared by columns
      {{1, 512, 40, 40}, {32, 512, 3, 3}, {1, 1, 1, 1}},  // a line is more than a group
  };
  for (const auto& each : cases) {
    for (const bool bias : {false, true}) {
      SCOPED_TRACE(dims_text(each.x) + " by " + dims_text(each.w));
      OneKernel kernel = convolution(each.x, each.w, each.pads, bias);
      const auto expected = kernel.node.run(kernel.inputs)[0].to_doubles();
      std::optional<std::vector<Tensor>> first;
      for (const int threads : {1, 3}) {
        set_thread_count(threads);
        std::string name;
        const auto outputs = kernel.run(&name);
        ASSERT_TRUE(outputs) << kernel.reason;
        EXPECT_EQ(name, std::string("cpu:winograd:") + (GetParam().tactic == kWinogradOfTwo ? "2x2" : "4x4"));
        EXPECT_LT(distance(expected, (*outputs)[0].to_doubles()), GetParam().bound);
        if (!first) first = outputs;
        EXPECT_TRUE((*first)[0].identical((*outputs)[0])) << "threads change the result";
      }
    }
  }
}

TEST_P(Winograd, WhatDoesNotFitIsRefused) {
  const auto refused = [](OneKernel kernel, AttributeMap attributes = {}) {
    kernel.node.attributes = std::move(attributes);
    EXPECT_FALSE(kernel.run());
    EXPECT_THAT(kernel.reason, testing::HasSubstr(GetParam().tactic));
    const auto offered = kernel.tactics();
    EXPECT_EQ(std::find(offered.begin(), offered.end(), GetParam().tactic), offered.end());
  };
  const auto usual = convolution({1, 16, 8, 8}, {32, 16, 3, 3}, {0, 0, 0, 0}, false);
  refused(usual, {{"strides", Attribute(std::vector<int64_t>{2, 1})}});
  refused(usual, {{"dilations", Attribute(std::vector<int64_t>{1, 2})}});
  refused(convolution({1, 24, 8, 8}, {32, 24, 3, 3}, {0, 0, 0, 0}, false));  // no whole vectors
  refused(convolution({1, 16, 8, 8}, {8, 16, 3, 3}, {0, 0, 0, 0}, false));
  refused(convolution({1, 16, 8, 8}, {32, 16, 5, 5}, {0, 0, 0, 0}, false));
  refused(convolution({1, 16, 8}, {32, 16, 3}, {0, 0}, false));
  OneKernel unknown = usual;
  unknown.constants.clear();
  refused(unknown);
  refused(convolution({1, 32, 8, 8}, {32, 16, 3, 3}, {0, 0, 0, 0}, false),
          {{"group", Attribute(int64_t{2})}});
}

INSTANTIATE_TEST_SUITE_P(Ways, Winograd,
                         testing::Values(Way{kWinogradOfTwo, ElementType::kFloat, 1e-6},
                                         Way{kWinogradOfFour, ElementType::kFloat, 1e-5},
                                         Way{kWinogradOfTwo, ElementType::kBFloat16, 8e-3}));

TEST(WinogradTactics, AreApproximateAndForMachinesWithoutTiles) {
  OneKernel kernel{{"Conv", 11, {{"pads", Attribute(std::vector<int64_t>{1, 1, 1, 1})}}},
                   {noise({1, 16, 8, 8}, 1), noise({32, 16, 3, 3}, 2)},
                   {1},
                   Layout::kChannelsLast};
  const auto offered = kernel.tactics();
  for (const char* tactic : {kWinogradOfTwo, kWinogradOfFour}) {
    EXPECT_TRUE(approximate_tactics().contains(tactic));
    EXPECT_EQ(std::count(offered.begin(), offered.end(), tactic), has_vector_blocks() && !has_bf16_tiles());
  }
  for (Tensor& input : kernel.inputs)
    input = Tensor::from_doubles(ElementType::kBFloat16, input.dims(), input.to_doubles());
  const auto narrow = kernel.tactics();
  EXPECT_EQ(std::count(narrow.begin(), narrow.end(), kWinogradOfFour), 0) << "it loses too much";
}

// One tile of one channel: the transforms of all three are those of a convolution.
TEST(WinogradTransform, ProductsOfTransformsAreConvolutions) {
  VERNIER_NEEDS(kBf16);
  for (const int64_t m : {2, 4}) {
    const WinogradSize size{m};
    const int64_t pixels = size.pixels(), positions = size.positions();
    const auto image = floats(static_cast<size_t>(positions * kWinogradLanes), 1),
               weights = floats(static_cast<size_t>(9 * kVectorColumns), 2);
    std::vector<const void*> places;
    for (int64_t i = 0; i < positions; ++i) places.push_back(image.data() + i * kWinogradLanes);
    std::vector<float> input(image.size()), transformed(static_cast<size_t>(positions * kVectorColumns)),
        outputs(static_cast<size_t>(m * m * kVectorColumns));
    transform_input(size, ElementType::kFloat, {places.data(), kWinogradLanes, input.data(), kWinogradLanes});
    transform_weights(size, weights.data(), transformed.data());
    for (size_t i = 0; i < transformed.size(); ++i)
      transformed[i] *= input[i / kVectorColumns * kWinogradLanes];  // of channel 0
    transform_sums(size, {transformed.data(), kVectorColumns, outputs.data(), m * kVectorColumns});
    for (int64_t y = 0; y < m; ++y) {
      for (int64_t x = 0; x < m; ++x) {
        for (int64_t column = 0; column < kVectorColumns; ++column) {
          double sum = 0;
          for (int64_t tap = 0; tap < 9; ++tap)
            sum += static_cast<double>(
                       image[static_cast<size_t>(((y + tap / 3) * pixels + x + tap % 3) * kWinogradLanes)]) *
                   weights[static_cast<size_t>(tap * kVectorColumns + column)];
          EXPECT_NEAR(outputs[static_cast<size_t>((y * m + x) * kVectorColumns + column)], sum, 2e-5);
        }
      }
    }
  }
}

// Rows lie farther apart than they are long, and so do those of sums if rows come in chunks.
struct VectorCase {
  ElementType element;
  int64_t rows, groups, chunks;  // 0: whole rows
  bool adds = false;

  void expect() const {
    const int64_t stride = kVectorColumns + (chunks > 0 ? 3 : 0), parts = std::max<int64_t>(1, chunks);
    const auto bytes = static_cast<int64_t>(element_size(element)), group = kVnniGroupBytes / bytes;
    const int64_t depth = groups * group, row = depth + group;
    const Tensor x = noise({parts, rows, row}, 1, element),
                 w = noise({parts * groups, kVectorColumns, group}, 2, element);
    const auto before = floats(static_cast<size_t>(rows * stride), 3);
    auto sums = before;
    multiply_vectors(element, {static_cast<const std::byte*>(x.raw()), row * bytes, rows, groups,
                               static_cast<const std::byte*>(w.raw()), sums.data(), nullptr, true, chunks,
                               rows * row * bytes, stride, adds});
    const auto a = x.to_doubles(), b = w.to_doubles();
    for (int64_t at = 0; at < rows * stride; ++at) {
      const int64_t r = at / stride, column = at % stride;
      double sum = column < kVectorColumns && !adds ? 0 : before[static_cast<size_t>(at)];
      for (int64_t i = 0; i < parts * depth && column < kVectorColumns; ++i)
        sum += a[static_cast<size_t>((i / depth * rows + r) * row + i % depth)] *
               b[static_cast<size_t>((i / group * kVectorColumns + column) * group + i % group)];
      ASSERT_NEAR(sums[static_cast<size_t>(at)], sum, 1e-4) << rows << " " << groups << " " << chunks;
    }
  }
};

TEST(VectorBlocks, RowsAndDepths) {
  VERNIER_NEEDS(kBf16);
  for (int64_t rows = 1; rows <= 26; ++rows) {
    for (const ElementType element : {ElementType::kFloat, ElementType::kBFloat16}) {
      for (const int64_t groups : {1, 5, 16}) VectorCase{element, rows, groups, 0}.expect();
    }
    for (const int64_t chunks : {1, 3}) {
      for (const bool adds : {false, true})
        VectorCase{ElementType::kBFloat16, rows, kChunkGroups, chunks, adds}.expect();
    }
  }
}

}  // namespace
}  // namespace vernier::cpu

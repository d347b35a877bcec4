// GridSample, RotaryEmbedding and LRN against the reference.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

constexpr ElementType kF32 = ElementType::kFloat;

// Coordinates inside, outside, on the borders, and one that is none.
Tensor grid_of(Dims dims, unsigned seed) {
  Tensor grid = random_tensor(kF32, std::move(dims), seed, false);
  auto* values = static_cast<float*>(grid.mutable_raw());
  for (int64_t i = 0; i < grid.size(); ++i) values[i] *= 0.5F;
  if (grid.size() > 4) {
    values[0] = -1;
    values[1] = 1;
    values[2] = 1e30F;
    values[4] = std::numeric_limits<float>::quiet_NaN();
  }
  return grid;
}

TEST(GridSampleKernel, ModesPaddingsAndRanks) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int64_t align : {0, 1}) {
        const AttributeMap attributes = {{"mode", Attribute(std::string(mode))},
                                         {"padding_mode", Attribute(std::string(padding))},
                                         {"align_corners", Attribute(align)}};
        OneKernel image{{"GridSample", 20, attributes},
                        {random_tensor(kF32, {2, 5, 7, 9}, 1, false), grid_of({2, 11, 13, 2}, 2)}};
        image.tolerance = 1e-5;
        image.expect("cpu:grid-sample");
        OneKernel volume{{"GridSample", 20, attributes},
                         {random_tensor(kF32, {1, 3, 4, 5, 6}, 3, false), grid_of({1, 2, 3, 40, 3}, 4)}};
        volume.tolerance = 1e-5;
        volume.expect("cpu:grid-sample");
      }
    }
  }
  OneKernel nothing{{"GridSample", 20},
                    {random_tensor(kF32, {1, 0, 4, 4}, 1, false), grid_of({1, 2, 2, 2}, 2)}};
  nothing.expect("cpu:grid-sample");
}

void expect_rotary(const std::string& domain, AttributeMap attributes, std::vector<Tensor> inputs) {
  OneKernel one{{"RotaryEmbedding", domain.empty() ? 23 : 1, std::move(attributes), domain},
                std::move(inputs)};
  one.tolerance = 1e-6;
  one.expect("cpu:rotary");
}

TEST(RotaryKernel, LayoutsPositionsAndPairs) {
  const Tensor cosines = random_tensor(kF32, {20, 4}, 1, false),
               sines = random_tensor(kF32, {20, 4}, 2, false);
  const Tensor separate = random_tensor(kF32, {2, 3, 5, 8}, 3, false),
               packed = random_tensor(kF32, {2, 5, 24}, 4, false),
               partial = random_tensor(kF32, {2, 3, 5, 12}, 5, false);
  const Tensor each = ops::ints({2, 5}, {0, 1, 2, 3, 4, 19, 18, 17, 16, 15}), first = ops::ints({1}, {7});
  const Tensor by_row = random_tensor(kF32, {2, 5, 4}, 6, false);
  for (const int64_t interleaved : {0, 1}) {
    const Attribute pairs(interleaved);
    expect_rotary("", {{"interleaved", pairs}}, {separate, cosines, sines, each});
    expect_rotary("", {{"interleaved", pairs}, {"num_heads", Attribute(int64_t{3})}},
                  {packed, cosines, sines, each});
    expect_rotary("", {{"interleaved", pairs}, {"rotary_embedding_dim", Attribute(int64_t{8})}},
                  {partial, cosines, sines, each});
    expect_rotary("", {{"interleaved", pairs}}, {separate, by_row, by_row});
    expect_rotary("com.microsoft", {{"interleaved", pairs}}, {separate, first, cosines, sines});
    expect_rotary("com.microsoft", {{"interleaved", pairs}}, {packed, each, cosines, sines});
  }
}

TEST(RotaryKernel, PositionsOutsideAreRefused) {
  OneKernel one{{"RotaryEmbedding", 23},
                {random_tensor(kF32, {1, 1, 1, 8}, 3, false), random_tensor(kF32, {2, 4}, 1, false),
                 random_tensor(kF32, {2, 4}, 1, false), ops::ints({1, 1}, {-1})}};
  EXPECT_THROW(one.run(), Error);
}

TEST(LrnKernel, SizesAndExponents) {
  for (const int64_t size : {1, 4, 5}) {
    for (const float beta : {0.75F, 0.5F}) {
      for (const Dims& dims : {Dims{2, 7, 19, 23}, Dims{1, 3, 5}, Dims{3, 2}, Dims{1, 0, 4, 4}}) {
        OneKernel one{
            {"LRN", 13, {{"size", Attribute(size)}, {"beta", Attribute(beta)}, {"alpha", Attribute(0.3F)}}},
            {random_tensor(kF32, dims, 1, false)}};
        one.tolerance = 1e-6;
        one.expect("cpu:lrn");
      }
    }
  }
}

}  // namespace
}  // namespace vernier::cpu

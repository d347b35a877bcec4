// Resize and Upsample against the reference, for every way to find positions.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using ops::floats;
using ops::ints;

struct Resize {
  std::string mode, coordinates, nearest = "round_prefer_floor";
  int64_t antialias = 0, exclude_outside = 0;

  AttributeMap attributes() const {
    return {{"mode", Attribute(mode)},
            {"coordinate_transformation_mode", Attribute(coordinates)},
            {"nearest_mode", Attribute(nearest)},
            {"antialias", Attribute(antialias)},
            {"exclude_outside", Attribute(exclude_outside)}};
  }
};

void expect_sizes(const Resize& how, ElementType type, const Dims& dims, const std::vector<int64_t>& sizes,
                  Layout layout, std::string_view name) {
  OneKernel{{"Resize", 19, how.attributes()},
            {random_tensor(type, dims, 3, how.mode == "nearest"), Tensor(), Tensor(),
             ints({static_cast<int64_t>(sizes.size())}, sizes)},
            {3},
            layout,
            how.mode == "nearest" ? 0 : 2e-6}
      .expect(name);
}

const std::vector<std::string> kCoordinates{"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                            "align_corners", "asymmetric"};
const std::vector<std::vector<int64_t>> kSizes{{2, 5, 8, 14}, {2, 5, 9, 3}, {2, 5, 1, 1}, {2, 5, 4, 21}};

TEST(Resize, NearestOfEveryWidth) {
  for (const std::string& coordinates : kCoordinates) {
    for (const char* nearest : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
        for (const ElementType type : {ElementType::kUint8, ElementType::kFloat16, ElementType::kFloat}) {
          for (const auto& sizes : kSizes)
            expect_sizes({"nearest", coordinates, nearest}, type, {2, 5, 4, 7}, sizes, layout,
                         "cpu:resize-nearest");
        }
      }
    }
  }
}

TEST(Resize, LinearAndCubic) {
  for (const char* mode : {"linear", "cubic"}) {
    for (const std::string& coordinates : kCoordinates) {
      for (const int64_t antialias : {0, 1}) {
        for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
          for (const auto& sizes : kSizes)
            expect_sizes({mode, coordinates, "floor", antialias, antialias}, ElementType::kFloat,
                         {2, 5, 4, 7}, sizes, layout, "cpu:resize");
        }
      }
    }
  }
}

TEST(Resize, VolumesAndOneAxis) {
  expect_sizes({"linear", "half_pixel"}, ElementType::kFloat, {1, 2, 3, 4, 5}, {1, 2, 5, 3, 9},
               Layout::kPlain, "cpu:resize");
  expect_sizes({"linear", "half_pixel"}, ElementType::kFloat, {1, 2, 300}, {1, 2, 517}, Layout::kPlain,
               "cpu:resize");
  expect_sizes({"linear", "half_pixel"}, ElementType::kFloat, {2, 3}, {2, 3}, Layout::kPlain,
               "cpu:resize-nearest");  // nothing changes: a copy
}

TEST(Resize, LargeImageOnThreads) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast})
    expect_sizes({"linear", "half_pixel"}, ElementType::kFloat, {1, 19, 40, 60}, {1, 19, 160, 97}, layout,
                 "cpu:resize");
}

TEST(Resize, InfinityStaysWhereItIs) {
  auto values = std::vector<double>(16, 1);
  values[5] = std::numeric_limits<double>::infinity();
  OneKernel{{"Resize", 13, Resize{"linear", "asymmetric"}.attributes()},
            {floats({1, 1, 4, 4}, values), Tensor(), floats({4}, {1, 1, 2, 2})},
            {2},
            Layout::kPlain,
            1e-6}
      .expect("cpu:resize");
}

TEST(Upsample, OldVersions) {
  const Tensor x = random_tensor(ElementType::kFloat, {1, 3, 4, 5}, 1, false);
  OneKernel{
      {"Upsample", 9, {{"mode", Attribute(std::string("nearest"))}}}, {x, floats({4}, {1, 1, 2, 3})}, {1}}
      .expect("cpu:resize-nearest");
  OneKernel{
      {"Upsample",
       7,
       {{"mode", Attribute(std::string("linear"))}, {"scales", Attribute(std::vector<float>{1, 1, 2, 2})}}},
      {x},
      {},
      Layout::kPlain,
      1e-6}
      .expect("cpu:resize");
}

}  // namespace
}  // namespace vernier::cpu

// ConvTranspose against the reference.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using Ints = std::vector<int64_t>;
constexpr int64_t kGroups = 4;  // of all that have groups

void expect(const Dims& x, const Dims& w, AttributeMap attributes, bool bias = true,
            std::set<size_t> constants = {1, 2}, Layout layout = Layout::kPlain) {
  const bool grouped = attributes.contains("group");
  const int64_t groups = grouped ? kGroups : 1;
  const auto values = [](Dims dims, unsigned seed) {
    return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
  };
  std::vector<Tensor> inputs = {values(x, 1), values(w, 2)};
  if (bias) inputs.push_back(values({w[1] * groups}, 3));
  if (!bias) constants.erase(2);
  OneKernel one{{"ConvTranspose", 11, std::move(attributes)}, inputs, std::move(constants), layout, 2e-5};
  std::string name;
  ASSERT_TRUE(one.run(&name)) << one.reason;
  EXPECT_EQ(name.substr(0, 7), "onednn:");
  one.expect(name);
}

TEST(Deconvolution, RanksStridesAndPads) {
  const auto ints = [](const char* name, Ints list) { return std::pair(name, Attribute(std::move(list))); };
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
    expect({2, 3, 7}, {3, 4, 3}, {ints("strides", {2})}, true, {1, 2}, layout);
    expect({1, 16, 5, 6}, {16, 32, 2, 2}, {ints("strides", {2, 2})}, true, {1, 2}, layout);
    expect({2, 5, 4, 3}, {5, 7, 3, 4}, {ints("strides", {2, 3}), ints("pads", {1, 0, 2, 1})}, false, {1},
           layout);
    expect({1, 3, 4, 4}, {3, 2, 3, 3}, {ints("strides", {2, 2}), ints("output_padding", {1, 1})}, true,
           {1, 2}, layout);
    expect({1, 3, 4, 4}, {3, 2, 3, 3}, {ints("dilations", {2, 3})}, true, {1, 2}, layout);
    expect({1, 2, 3, 4, 3}, {2, 3, 2, 3, 2}, {ints("strides", {2, 1, 2})}, true, {1, 2}, layout);
    expect({1, 3, 4, 4}, {3, 2, 3, 3}, {ints("strides", {3, 3}), ints("output_shape", {10, 11})}, true,
           {1, 2}, layout);
  }
}

TEST(Deconvolution, GroupsAndWeightsThatAreNotKnown) {
  const std::pair<const std::string, Attribute> four{"group", Attribute(kGroups)};
  const std::pair<const std::string, Attribute> strides{"strides", Attribute(Ints{2, 2})};
  for (const std::set<size_t>& constants : {std::set<size_t>{1, 2}, std::set<size_t>{}}) {
    expect({1, 8, 5, 5}, {8, 3, 3, 3}, {four, strides}, true, constants);
    expect({1, 4, 5, 5}, {4, 1, 4, 4}, {four, strides}, false, constants);
    expect({1, 6, 5, 5}, {6, 3, 3, 3}, {strides}, true, constants);
  }
}

OneKernel sub_pixel(const Dims& x, const Dims& w, AttributeMap attributes, bool bias = true) {
  const auto values = [](Dims dims, unsigned seed) {
    return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
  };
  OneKernel one{{"ConvTranspose", 11, std::move(attributes)}, {values(x, 1), values(w, 2)}, {1}};
  if (bias) {
    one.inputs.push_back(values({w[1]}, 3));
    one.constants.insert(2);
  }
  one.layout = Layout::kChannelsLast;
  one.tolerance = 5e-5;
  one.tactic = "sub-pixel";
  return one;
}

constexpr const char* kSubPixel = "cpu:transposed_convolution";

TEST(TransposedConvolution, StridesWindowsAndColumns) {
  const auto ints = [](const char* name, Ints list) { return std::pair(name, Attribute(std::move(list))); };
  const auto strides = ints("strides", {2, 2}), pads = ints("pads", {0, 0, 1, 1});
  sub_pixel({1, 16, 5, 6}, {16, 16, 2, 2}, {strides}).expect(kSubPixel);       // rows of whole panels
  sub_pixel({2, 7, 3, 13}, {7, 5, 2, 2}, {strides}, false).expect(kSubPixel);  // and of parts
  sub_pixel({1, 8, 4, 5}, {8, 32, 3, 3}, {strides, pads}).expect(kSubPixel);   // pixels of other taps
  sub_pixel({1, 3, 40, 50}, {3, 40, 4, 4}, {strides, ints("pads", {1, 0, 1, 2})}).expect(kSubPixel);
  sub_pixel({1, 3, 7, 9}, {3, 4, 5, 5}, {ints("strides", {2, 3}), ints("pads", {2, 0, 0, 2})})
      .expect(kSubPixel);
  sub_pixel({1, 3, 7, 9}, {3, 4, 2, 3}, {ints("pads", {0, 0, 0, 2})}).expect(kSubPixel);
  sub_pixel({2, 3, 9}, {3, 4, 2}, {ints("strides", {2})}).expect(kSubPixel);
  OneKernel deep = sub_pixel({2, 300, 4, 15}, {300, 6, 3, 3}, {strides, pads});  // sums of more than a block
  deep.tolerance = 1e-4;
  deep.expect(kSubPixel);
  // Lines that no window reaches.
  sub_pixel({1, 3, 4, 3}, {3, 4, 2, 2}, {ints("strides", {2, 2}), ints("output_padding", {1, 0})})
      .expect(kSubPixel);
}

TEST(TransposedConvolution, WhatIsNoNumberStaysInItsWindow) {
  OneKernel one = sub_pixel({1, 2, 3, 4}, {2, 3, 3, 3},
                            {{"strides", Attribute(Ints{2, 2})}, {"pads", Attribute(Ints{0, 0, 1, 1})}});
  auto values = one.inputs[0].to_doubles();
  values[5] = std::numeric_limits<double>::infinity();
  values[18] = std::nan("");
  one.inputs[0] = Tensor::from_doubles(ElementType::kFloat, {1, 2, 3, 4}, values);
  one.expect(kSubPixel);
}

TEST(TransposedConvolution, OtherShapesAreLeftToTheLibrary) {
  const std::pair<const std::string, Attribute> strides{"strides", Attribute(Ints{2, 2})};
  const Dims x{1, 4, 5, 6}, w{4, 6, 2, 2};
  EXPECT_THAT(sub_pixel(x, w, {strides}).tactics(), testing::Contains("sub-pixel"));
  EXPECT_THAT(sub_pixel(x, w, {strides, {"group", Attribute(kGroups)}}, false).tactics(), testing::IsEmpty());
  EXPECT_THAT(sub_pixel(x, w, {strides, {"pads", Attribute(Ints{0, 1, 0, 1})}}).tactics(),
              testing::IsEmpty());
  EXPECT_THAT(sub_pixel(x, {4, 6, 3, 3}, {strides}).tactics(), testing::IsEmpty());  // one pixel more
  OneKernel unknown = sub_pixel(x, w, {strides});
  unknown.constants = {};
  EXPECT_THAT(unknown.tactics(), testing::IsEmpty());
  EXPECT_FALSE(unknown.run());
}

// oneDNN's reference takes seconds for what Vernier's takes milliseconds.
TEST(Deconvolution, TheReferenceOfTheLibraryIsNotTaken) {
  const auto values = [](Dims dims, unsigned seed) {
    return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
  };
  OneKernel one{{"ConvTranspose", 11, {{"strides", Attribute(Ints{1, 1, 2})}}},
                {values({2, 11, 4, 5, 9}, 1), values({11, 9, 3, 3, 3}, 2), values({9}, 3)},
                {},
                Layout::kChannelsLast,
                2e-5};
  std::string name;
  if (one.run(&name)) {
    EXPECT_EQ(name.find("ref"), std::string::npos) << name;
    one.expect(name);
  } else {
    EXPECT_EQ(one.reason, "oneDNN has no better than its reference for this transposed convolution");
  }
}

}  // namespace
}  // namespace vernier::cpu

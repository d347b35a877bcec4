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

}  // namespace
}  // namespace vernier::cpu

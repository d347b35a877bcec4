// A pixel that is infinite reaches the windows that hold it, and no other: kernels that fill up their vectors
// or tiles with what lies beside a window multiply it by 0, of which a NaN comes.
#include <gtest/gtest.h>

#include "cpu/nonfinite/nonfinite.h"

namespace vernier::nonfinite {
namespace {

struct Window {
  std::string node;
  Dims kernel;
  bool transposed = false;
};

struct Channels {
  int64_t groups, in, out;  // of a group
};

class Pixels : public testing::TestWithParam<ElementType> {};

Model model_of(const Window& window, const Channels& channels, const Dims& image, ElementType element) {
  Dims x{1, channels.groups * channels.in}, w{channels.groups * channels.out, channels.in};
  if (window.transposed) w = {channels.groups * channels.in, channels.out};
  x.insert(x.end(), image.begin(), image.end());
  w.insert(w.end(), window.kernel.begin(), window.kernel.end());
  const auto type = [&](const Dims& dims) { return ValueType::of(element, to_shape(dims)).text(); };
  const std::string zeros(static_cast<size_t>(element_count(w)) * element_size(element) * 2, '0');
  Model model = parse_graph(fmt::format(
      "graph \"g\" (%x: {}) -> (%y) {{\nconst %w = {} hex\"{}\"\n%y: {}[*] = {} @\"c\" from [\"c\"]\n}}",
      type(x), type(w), zeros, element_type_short_name(element), window.node));
  for (const auto& value : model.graph->values()) {
    if (!value->is_constant()) continue;
    auto values = numbers(element_count(w), 1, 0.2);
    for (double& each : values) each = std::abs(each) + 0.01;  // no 0, whose product with infinity is NaN
    value->constant = Tensor::from_doubles(element, w, values);
  }
  return model;
}

// For each pixel in turn an image in which it is infinite, in all channels.
std::vector<NamedData> images(int64_t channels, const Dims& image, ElementType element) {
  const int64_t pixels = element_count(image);
  Dims dims{1, channels};
  dims.insert(dims.end(), image.begin(), image.end());
  std::vector<NamedData> all;
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    auto values = numbers(channels * pixels, 2, 1);
    for (int64_t channel = 0; channel < channels; ++channel)
      values[static_cast<size_t>(channel * pixels + pixel)] = kInfinity;
    all.push_back({{"x", Tensor::from_doubles(element, dims, values)}});
  }
  return all;
}

TEST_P(Pixels, ReachTheirWindowsOnly) {
  const std::vector<Window> windows = {
      {"Conv(%x, %w) {group = G} version 11", {1, 1}},
      {"Conv(%x, %w) {group = G, pads = ints[1, 1, 1, 1]} version 11", {3, 3}},
      {"Conv(%x, %w) {group = G, pads = ints[2, 2, 2, 2], strides = ints[2, 2]} version 11", {5, 5}},
      {"Conv(%x, %w) {group = G, pads = ints[0, 1, 0, 1]} version 11", {1, 3}},
      {"ConvTranspose(%x, %w) {group = G, strides = ints[2, 2]} version 11", {2, 2}, true},
      {"ConvTranspose(%x, %w) {group = G, pads = ints[1, 1, 1, 1]} version 11", {3, 3}, true},
  };
  const Dims image{4, 5};
  for (Window window : windows) {
    for (const Channels& channels :
         {Channels{1, 4, 8}, Channels{1, 16, 16}, Channels{1, 24, 40}, Channels{1, 32, 32},
          Channels{1, 48, 16}, Channels{2, 16, 16}, Channels{2, 8, 16}}) {
      Window own = window;
      replace_all(own.node, "G", std::to_string(channels.groups));
      SCOPED_TRACE(fmt::format("{}, {} groups of {} to {} channels", window.node, channels.groups,
                               channels.in, channels.out));
      expect_as_reference(model_of(own, channels, image, GetParam()),
                          images(channels.groups * channels.in, image, GetParam()), tolerance_of(GetParam()));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Pixels,
                         testing::Values(ElementType::kFloat, ElementType::kBFloat16, ElementType::kFloat16),
                         [](const auto& of) { return std::string(element_type_short_name(of.param)); });

}  // namespace
}  // namespace vernier::nonfinite

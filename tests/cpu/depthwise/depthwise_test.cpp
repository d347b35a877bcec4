// Depthwise convolutions against the reference: windows of every kind, alone and with what follows.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/depthwise/depthwise_vector_loops.h"
#include "vernier/backends/cpu/depthwise/int8_depthwise_loops.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:depthwise";

Tensor values(Dims dims, unsigned seed) {
  return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
}

struct Window {
  Dims x, kernel;
  std::vector<int64_t> strides, dilations, pads;
};

OneKernel depthwise(const Window& window, bool bias) {
  const int64_t channels = window.x[1];
  Dims w{channels, 1};
  w.insert(w.end(), window.kernel.begin(), window.kernel.end());
  OneKernel kernel{{"Conv",
                    11,
                    {{"group", Attribute(channels)},
                     {"strides", Attribute(window.strides)},
                     {"dilations", Attribute(window.dilations)},
                     {"pads", Attribute(window.pads)}}},
                   {values(window.x, 1), values(w, 2)},
                   {1, 2},
                   Layout::kChannelsLast,
                   1e-5};
  if (bias) kernel.inputs.push_back(values({channels}, 3));
  kernel.tactic = "depthwise";
  return kernel;
}

// Names the kernel that takes a window of this type.
const char* name_of(const Window& window, ElementType type) {
  const bool served =
      type != ElementType::kFloat16 && window.dilations.front() == 1 &&
      has_depthwise_vectors(window.kernel.back(), window.strides.back(), window.dilations.back());
  if (!served) return kName;
  return type == ElementType::kFloat ? "cpu:depthwise:vectors" : "cpu:depthwise:bf16";
}

// Adds the kernel sizes of most networks.
std::vector<Window> with_usual_windows(int64_t channels, std::vector<Window> windows) {
  windows.insert(windows.end(), {
                                    {{1, channels, 9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                    {{2, channels, 9, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                                    {{1, channels, 12, 11}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
                                    {{1, channels, 12, 11}, {5, 5}, {2, 2}, {1, 1}, {1, 2, 2, 1}},
                                    {{1, channels, 10, 13}, {7, 7}, {1, 1}, {1, 1}, {3, 3, 3, 3}},
                                    {{1, channels, 3, 3}, {5, 5}, {1, 1}, {1, 1}, {4, 4, 4, 4}},
                                    {{1, channels, 4, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                    {{1, channels, 5, 28}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                                    {{2, channels, 20}, {5}, {1}, {1}, {2, 2}},
                                });
  return windows;
}

TEST(Depthwise, WindowsAndChannels) {
  for (const int64_t channels : {2, 16, 19, 64, 70}) {
    const auto windows =
        with_usual_windows(channels, {
                                         {{1, channels, 10, 13}, {7, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
                                         {{1, channels, 40, 6}, {3, 3}, {1, 1}, {2, 2}, {2, 2, 2, 2}},
                                         {{1, channels, 14, 14}, {5, 3}, {1, 1}, {1, 1}, {2, 1, 2, 1}},
                                         {{1, channels, 13, 26}, {3, 5}, {2, 1}, {1, 1}, {0, 3, 2, 1}},
                                         {{1, channels, 11, 10}, {4, 2}, {3, 3}, {1, 1}, {0, 0, 0, 0}},
                                         {{1, channels, 2, 2}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                                         {{1, channels, 7, 7}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
                                         {{1, channels, 5, 28}, {5, 5}, {2, 2}, {1, 1}, {1, 1, 2, 2}},
                                         {{1, channels, 3, 48}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}},
                                     });
    for (const Window& window : windows) {
      for (const bool bias : {false, true}) {
        SCOPED_TRACE(dims_text(window.x) + " window " + dims_text(window.kernel));
        auto kernel = depthwise(window, bias);
        kernel.expect(name_of(window, ElementType::kFloat));
        // Products of narrow numbers are summed in floats and rounded once, as by the reference.
        for (const auto& [type, tolerance] :
             {std::pair(ElementType::kFloat16, 0x1p-10), std::pair(ElementType::kBFloat16, 0x1p-7)}) {
          for (Tensor& input : kernel.inputs)
            input = Tensor::from_doubles(type, input.dims(), input.to_doubles());
          kernel.tolerance = tolerance;
          kernel.expect(name_of(window, type));
        }
      }
    }
  }
}

// Without padding, as plans give them to kernels: padding is multiplied with such weights, and becomes a Pad
// (pad_explicitly()), see padded_weights_test.cpp.
TEST(Depthwise, InfiniteWeights) {
  for (const int64_t kernel : {3, 7}) {
    const Window window{{1, 32, 9, 14}, {kernel, kernel}, {1, 1}, {1, 1}, {0, 0, 0, 0}};
    auto infinite = depthwise(window, false);
    std::vector<double> weights = infinite.inputs[1].to_doubles();
    weights[0] = std::numeric_limits<double>::infinity();
    infinite.inputs[1] = Tensor::from_doubles(ElementType::kFloat, {32, 1, kernel, kernel}, weights);
    infinite.expect(name_of(window, ElementType::kFloat));
  }
}

TEST(Depthwise, OtherConvolutionsAreRefused) {
  const Window window{{1, 16, 9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}};
  auto unknown = depthwise(window, false);
  unknown.constants = {};
  EXPECT_FALSE(unknown.run());
  auto grouped = depthwise(window, false);
  grouped.node.attributes["group"] = Attribute(int64_t{8});
  grouped.inputs[1] = values({16, 2, 3, 3}, 2);
  EXPECT_FALSE(grouped.run());
  auto plain = depthwise(window, false);
  plain.tactic = "";
  std::string name;
  EXPECT_TRUE(plain.run(&name));
  EXPECT_NE(name, kName);
}

// QLinearConv, bit by bit: scales are powers of two.
OneKernel int8_depthwise(const Window& window, ElementType type, ElementType result, double zero_point) {
  const int64_t channels = window.x[1];
  Dims w{channels, 1};
  w.insert(w.end(), window.kernel.begin(), window.kernel.end());
  std::vector<double> scales, bias;
  for (int64_t i = 0; i < channels; ++i) {
    scales.push_back(std::ldexp(1.0, -static_cast<int>(3 + i % 4)));
    bias.push_back(static_cast<double>(i * 3701 % 2011 - 999));
  }
  const auto reals = [](const std::vector<double>& all) {
    return Tensor::from_doubles(ElementType::kFloat, {static_cast<int64_t>(all.size())}, all);
  };
  const auto scalar = [](double value, ElementType of = ElementType::kFloat) {
    return Tensor::from_doubles(of, {}, std::vector<double>{value});
  };
  OneKernel kernel{{"QLinearConv",
                    10,
                    {{"group", Attribute(channels)},
                     {"strides", Attribute(window.strides)},
                     {"dilations", Attribute(window.dilations)},
                     {"pads", Attribute(window.pads)}}},
                   {random_tensor(type, window.x, 1), scalar(0.25), scalar(zero_point, type),
                    random_tensor(ElementType::kInt8, w, 2), reals(scales),
                    Tensor::from_doubles(ElementType::kInt8, {channels},
                                         std::vector<double>(static_cast<size_t>(channels))),
                    scalar(4), scalar(result == ElementType::kUint8 ? 131 : -3, result),
                    Tensor::from_doubles(ElementType::kInt32, {channels}, bias)},
                   {1, 2, 3, 4, 5, 6, 7, 8},
                   Layout::kChannelsLast};
  kernel.tactic = "depthwise";
  return kernel;
}

TEST(Depthwise, Bytes) {
  VERNIER_NEEDS(kVnni);
  constexpr auto kU8 = ElementType::kUint8, kS8 = ElementType::kInt8;
  for (const int64_t channels : {2, 16, 19, 32, 64, 70, 96, 192}) {
    const auto windows =
        with_usual_windows(channels, {
                                         {{1, channels, 10, 13}, {8, 7}, {2, 2}, {1, 1}, {3, 3, 3, 3}},
                                         {{1, channels, 40, 6}, {1, 3}, {3, 1}, {1, 1}, {0, 0, 0, 0}},
                                         {{1, channels, 40, 2}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}},
                                         {{1, channels, 9, 41}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                         {{2, channels, 9, 42}, {2, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}},
                                         {{1, channels, 8, 23}, {3, 3}, {1, 1}, {1, 1}, {1, 2, 1, 0}},
                                         {{1, channels, 7, 14}, {5, 5}, {1, 1}, {1, 1}, {2, 2, 2, 2}},
                                         {{2, channels, 7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                         {{1, channels, 6, 3}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
                                         // This image has several parts.
                                         {{1, channels, 3, 300}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
                                         {{1, channels, 6, 131}, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}},
                                         {{1, channels, 4, 130}, {4, 7}, {1, 2}, {1, 1}, {1, 3, 1, 3}},
                                     });
    for (const Window& window : windows) {
      SCOPED_TRACE(dims_text(window.x) + " window " + dims_text(window.kernel));
      int8_depthwise(window, kU8, kU8, 3).expect("cpu:int8_depthwise");
      int8_depthwise(window, kU8, kS8, 255).expect("cpu:int8_depthwise");
      int8_depthwise(window, kS8, kU8, -77).expect("cpu:int8_depthwise");
    }
  }
}

TEST(Depthwise, OtherBytesAreRefused) {
  VERNIER_NEEDS(kVnni);
  constexpr auto kU8 = ElementType::kUint8;
  const Window dilated{{1, 16, 9, 9}, {3, 3}, {1, 1}, {2, 2}, {1, 1, 1, 1}},
      wide{{1, 16, 19, 19}, {3, 9}, {1, 1}, {1, 1}, {1, 1, 1, 1}},
      far{{1, 16, 19, 19}, {3, 3}, {1, 3}, {1, 1}, {1, 1, 1, 1}};
  for (const Window& window : {dilated, wide, far}) EXPECT_FALSE(int8_depthwise(window, kU8, kU8, 3).run());
  OneKernel shifted = int8_depthwise({{1, 16, 9, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, kU8, kU8, 3);
  EXPECT_TRUE(shifted.run());
  shifted.inputs[5] =
      Tensor::from_doubles(ElementType::kInt8, {16}, std::vector<double>(16, 1));  // of the weights
  EXPECT_FALSE(shifted.run());
}

}  // namespace
}  // namespace vernier::cpu

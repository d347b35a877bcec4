// Products of integers whose zero points and scales may come at run time, against the reference.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

constexpr auto kU8 = ElementType::kUint8, kS8 = ElementType::kInt8;

Tensor bytes(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed);
}

Tensor values(Dims dims, unsigned seed) {
  return random_tensor(ElementType::kFloat, std::move(dims), seed, false);
}

Tensor scales(const Dims& dims, unsigned seed) {
  auto reals = values(dims, seed).to_doubles();
  for (double& real : reals) real = 0.001 + std::abs(real) / 100;
  return Tensor::from_doubles(ElementType::kFloat, dims, reals);
}

enum class By : uint8_t { kLibrary, kAny };  // the kernels that must serve, where oneDNN sums bytes exactly

void expect_integers(OneKernel kernel, By by = By::kLibrary) {
  std::string name;
  ASSERT_TRUE(kernel.run(&name)) << kernel.node.op << ": " << kernel.reason;
  if (by == By::kLibrary) {
    EXPECT_THAT(name, ::testing::StartsWith(accumulates_int8_exactly() ? "onednn:" : "cpu:int16_pairs"));
  }
  kernel.expect(name);
}

TEST(IntegerProducts, MatricesOfEveryTypeWithEveryZeroPoint) {
  const ops::OneNode node{"MatMulInteger", 10};
  for (const ElementType a : {kU8, kS8}) {
    for (const ElementType b : {kU8, kS8}) {
      for (const std::set<size_t>& constants :
           {std::set<size_t>{}, std::set<size_t>{1}, std::set<size_t>{1, 3}}) {
        const Tensor x = bytes(a, {5, 37}, 1), w = bytes(b, {37, 19}, 2);
        expect_integers({node, {x, w}, constants});
        expect_integers({node, {x, w, bytes(a, {}, 3)}, constants});
        expect_integers({node, {x, w, Tensor(), bytes(b, {1}, 4)}, constants});
        expect_integers({node, {x, w, bytes(a, {}, 3), bytes(b, {}, 4)}, constants});
        expect_integers({node, {x, w, bytes(a, {5}, 3), bytes(b, {19}, 4)}, constants});
      }
    }
  }
}

TEST(IntegerProducts, BatchesAndVectors) {
  const ops::OneNode node{"MatMulInteger", 10};
  const auto expect = [&](const Dims& a, const Dims& b, const Dims& a_zero, const Dims& b_zero) {
    expect_integers(
        {node, {bytes(kU8, a, 1), bytes(kU8, b, 2), bytes(kU8, a_zero, 3), bytes(kU8, b_zero, 4)}});
  };
  expect({2, 3, 4, 8}, {8, 5}, {}, {5});
  expect({2, 3, 4, 8}, {8, 5}, {4}, {});
  expect({2, 3, 4, 8}, {8, 5}, {2, 3, 4, 1}, {1, 5});
  expect({2, 3, 4, 8}, {2, 3, 8, 5}, {1, 1, 4, 1}, {});
  expect({2, 1, 4, 8}, {3, 8, 5}, {2, 1, 4, 1}, {5});
  expect({8}, {8, 5}, {}, {5});
  expect({4, 8}, {8}, {4}, {});
  expect({1, 1}, {1, 1}, {}, {});
}

TEST(IntegerProducts, SumsOfTheLargestProducts) {
  const auto all = [](ElementType type, Dims dims, double value) {
    std::vector<double> same(static_cast<size_t>(element_count(dims)), value);
    return Tensor::from_doubles(type, dims, same);
  };
  const ops::OneNode node{"MatMulInteger", 10};
  expect_integers({node, {all(kU8, {3, 4096}, 255), all(kU8, {4096, 17}, 255)}, {1}});
  expect_integers({node, {all(kS8, {3, 4096}, -128), all(kS8, {4096, 17}, -128), all(kS8, {}, 127)}, {1}});
}

TEST(IntegerProducts, FloatsAreMadeOfTheSums) {
  const ops::OneNode node{"MatMulIntegerToFloat", 1, {}, "com.microsoft"};
  const Tensor x = bytes(kU8, {2, 3, 40}, 1), w = bytes(kS8, {40, 21}, 2);
  for (const std::set<size_t>& constants : {std::set<size_t>{}, std::set<size_t>{1, 3, 5, 6}}) {
    expect_integers({node, {x, w, scales({1}, 3), scales({1}, 4)}, constants, Layout::kPlain, 1e-5});
    expect_integers(
        {node,
         {x, w, scales({1}, 3), scales({21}, 4), bytes(kU8, {}, 5), bytes(kS8, {21}, 6), values({21}, 7)},
         constants,
         Layout::kPlain,
         1e-5});
  }
}

TEST(IntegerProducts, OperandsThatAreQuantizedFirst) {
  const ops::OneNode node{"DynamicQuantizeMatMul", 1, {}, "com.microsoft"};
  const Tensor x = values({7, 300}, 1), w = bytes(kU8, {300, 33}, 2);
  for (const std::set<size_t>& constants : {std::set<size_t>{}, std::set<size_t>{1, 2, 3, 4}}) {
    expect_integers({node, {x, w, scales({1}, 3)}, constants, Layout::kPlain, 1e-5});
    expect_integers({node,
                     {x, w, scales({33}, 3), bytes(kU8, {33}, 4), values({33}, 5)},
                     constants,
                     Layout::kPlain,
                     1e-5});
  }
}

struct Convolution {
  Dims x, w;
  AttributeMap attributes;
};

std::vector<Convolution> convolutions() {
  const auto window = [](std::vector<int64_t> pads, int64_t groups, std::vector<int64_t> strides,
                         std::vector<int64_t> dilations) {
    return AttributeMap{{"pads", Attribute(std::move(pads))},
                        {"group", Attribute(groups)},
                        {"strides", Attribute(std::move(strides))},
                        {"dilations", Attribute(std::move(dilations))}};
  };
  return {{{2, 5, 9, 11}, {7, 5, 3, 3}, window({1, 1, 1, 1}, 1, {1, 1}, {1, 1})},
          {{1, 3, 12, 9}, {16, 3, 5, 2}, window({2, 0, 4, 1}, 1, {2, 3}, {2, 1})},
          {{2, 8, 6, 6}, {12, 2, 3, 3}, window({1, 0, 0, 1}, 4, {1, 2}, {1, 1})},
          {{1, 32, 7, 8}, {32, 1, 3, 3}, window({1, 1, 1, 1}, 32, {2, 1}, {1, 1})},
          {{1, 4, 1, 1}, {3, 4, 3, 3}, window({3, 3, 3, 3}, 1, {1, 1}, {2, 2})},
          {{1, 6, 15}, {4, 6, 3}, window({2, 1}, 1, {2}, {1})},
          {{1, 2, 4, 5, 6}, {3, 2, 2, 2, 3}, window({1, 0, 1, 0, 1, 1}, 1, {1, 1, 2}, {1, 1, 1})}};
}

TEST(IntegerProducts, ConvolutionsOfEveryTypeWithEveryZeroPoint) {
  for (const auto& [x, w, attributes] : convolutions()) {
    const ops::OneNode node{"ConvInteger", 10, attributes};
    for (const ElementType a : {kU8, kS8}) {
      for (const ElementType b : {kU8, kS8}) {
        for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
          SCOPED_TRACE(fmt::format("{} of {} by {} of {}, {}", dims_text(x), element_type_name(a),
                                   dims_text(w), element_type_name(b),
                                   layout == Layout::kPlain ? "plain" : "channels last"));
          const Tensor image = bytes(a, x, 1), weights = bytes(b, w, 2), zero = bytes(a, {}, 3);
          expect_integers({node, {image, weights}, {1}, layout});
          expect_integers({node, {image, weights, zero}, {1}, layout});
          expect_integers({node, {image, weights, zero, bytes(b, {1}, 4)}, {1, 3}, layout});
          expect_integers({node, {image, weights, zero, bytes(b, {w[0]}, 4)}, {1, 3}, layout});
        }
      }
    }
  }
}

// oneDNN keeps wrong sums of some of these weights.
TEST(IntegerProducts, GroupsOfWeightsOfOnePixel) {
  for (const int64_t groups : {2, 4, 8}) {
    const ops::OneNode node{"ConvInteger", 10, {{"group", Attribute(groups)}}};
    for (const ElementType a : {kU8, kS8}) {
      for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
        const Tensor image = bytes(a, {2, 8 * groups, 3, 1}, 1), weights = bytes(kS8, {8, 8, 1, 1}, 2);
        expect_integers({node, {image, weights}, {1}, layout}, By::kAny);
        expect_integers({node, {image, weights, bytes(a, {}, 3)}, {1}, layout}, By::kAny);
      }
    }
  }
}

// Scales are powers of two, so that the reference and the kernel round the same numbers.
TEST(IntegerProducts, ConvolutionsByWeightsWithZeroPointsThatAreQuantized) {
  const auto real = [](double value) { return ops::floats({}, {value}); };
  for (const char* domain : {"", "com.microsoft"}) {
    for (const auto& [x, w, attributes] : convolutions()) {
      const ops::OneNode node{"QLinearConv", domain[0] == 0 ? 10 : 1, attributes, domain};
      std::vector<double> steps;
      for (int64_t c = 0; c < w[0]; ++c) steps.push_back(std::ldexp(1.0, -static_cast<int>(4 + c % 3)));
      const Tensor w_scales = ops::floats({w[0]}, steps);
      std::vector<int64_t> biases;
      for (int64_t c = 0; c < w[0]; ++c) biases.push_back(c * 977 % 5000 - 2500);
      const Tensor bias = Tensor::from_ints(ElementType::kInt32, {w[0]}, biases);
      for (const ElementType type : {kU8, kS8}) {
        for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
          const Tensor image = bytes(type, x, 1), weights = bytes(type, w, 2), zero = bytes(type, {}, 3);
          expect_integers(
              {node,
               {image, real(0.25), zero, weights, real(0.125), bytes(type, {w[0]}, 4), real(4), zero},
               {1, 2, 3, 4, 5, 6, 7},
               layout});
          expect_integers(
              {node,
               {image, real(0.25), zero, weights, w_scales, bytes(type, {1}, 4), real(2), zero, bias},
               {1, 2, 3, 4, 5, 6, 7, 8},
               layout});
        }
      }
    }
  }
}

TEST(DynamicQuantization, RangesOfEveryKind) {
  const ops::OneNode node{"DynamicQuantizeLinear", 11, {}, "", 3};
  const auto expect = [&](const Tensor& x) { OneKernel{node, {x}}.expect("cpu:dynamic_quantize"); };
  for (const int64_t count : {0, 1, 3, 63, 64, 65, 1000, 70001, 300007}) expect(values({count}, 1));
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  expect(ops::floats({4}, {1, 2, 3, 4}));
  expect(ops::floats({4}, {-1, -2, -3, -4}));
  expect(ops::floats({4}, {0, 0, -0.0, 0}));
  expect(ops::floats({4}, {nan, 1, nan, -1}));
  expect(ops::floats({5}, {inf, 1, -inf, -1, nan}));
  expect(ops::floats({3}, {inf, 1, -3}));
  expect(ops::floats({3}, {3e38, -3e38, 1}));
  expect(ops::floats({3}, {1e-45, 0, 3e-45}));
  expect(ops::floats({6}, {0, 255, 0.5, 1.5, 2.5, 254.5}));  // ties
  OneKernel image{node, {values({2, 3, 5, 7}, 1)}};
  image.layout = Layout::kChannelsLast;
  image.expect("cpu:dynamic_quantize");
}

}  // namespace
}  // namespace vernier::cpu

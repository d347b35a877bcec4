// Contractions and pools of float16 and bfloat16: what oneDNN computes itself, and what is upcast.
#include <numeric>

#include "cpu/one_kernel.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/vectors/float_loops.h"

namespace vernier::cpu {
namespace {

using Strings = std::vector<std::string>;

constexpr ElementType kNarrow[] = {ElementType::kFloat16, ElementType::kBFloat16};

// The reference rounds once; kernels may round a sum that lies between two numbers the other way.
double ulp_of(ElementType type) {
  return type == ElementType::kFloat16 ? 0x1p-10 : 0x1p-7;
}

Tensor numbers(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed, false);
}

// The name depends on what the machine has; that there is a kernel does not.
std::string expect_kernel(OneKernel kernel) {
  std::string name;
  const auto reference = kernel.node.run(kernel.inputs);
  const auto outputs = kernel.run(&name);
  EXPECT_TRUE(outputs) << kernel.node.op << ": " << kernel.reason;
  if (outputs) kernel.expect(name);
  return name;
}

TEST(Narrow, Conv) {
  for (const ElementType type : kNarrow) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
      for (const int64_t groups : {1, 6}) {
        const auto name =
            expect_kernel({.node = {"Conv", 11, {{"group", Attribute(groups)}}},
                           .inputs = {numbers(type, {2, 6, 7, 5}, 1),
                                      numbers(type, {12, 6 / groups, 3, 3}, 2), numbers(type, {12}, 3)},
                           .constants = {1, 2},
                           .layout = layout,
                           .tolerance = ulp_of(type)});
        EXPECT_TRUE(name.starts_with("onednn:")) << name;
        EXPECT_TRUE(type != ElementType::kFloat16 || name.ends_with(":upcast")) << name;
      }
    }
  }
}

// Tiles of bfloat16, shared out among threads, with a stride along an axis of one element.
TEST(Narrow, ConvOfColumns) {
  expect_kernel({.node = {"Conv",
                          11,
                          {{"strides", Attribute(std::vector<int64_t>{2, 2})},
                           {"pads", Attribute(std::vector<int64_t>{1, 0, 1, 0})}}},
                 .inputs = {numbers(ElementType::kBFloat16, {16, 32, 100, 1}, 1),
                            numbers(ElementType::kBFloat16, {64, 32, 3, 1}, 2)},
                 .constants = {1},
                 .layout = Layout::kChannelsLast,
                 .tolerance = ulp_of(ElementType::kBFloat16)});
}

// The tactics of floats, on upcast operands.
TEST(Narrow, ConvByTactics) {
  OneKernel kernel{.node = {"Conv", 11, {}},
                   .inputs = {numbers(ElementType::kFloat16, {1, 32, 9, 9}, 1),
                              numbers(ElementType::kFloat16, {48, 32, 3, 3}, 2)},
                   .constants = {1},
                   .layout = Layout::kChannelsLast,
                   .tolerance = ulp_of(ElementType::kFloat16)};
  std::map<std::string, std::string> kernels;  // by tactic
  if (has_bf16_tiles())
    kernels = {{"bf16x3", "cpu:tiles:bf16x3"}, {"bf16x6", "cpu:tiles:bf16x6"}};
  else if (has_vector_blocks())
    kernels = {{"winograd-2x2", "cpu:winograd:2x2"}, {"winograd-4x4", "cpu:winograd:4x4"}};
  EXPECT_EQ(kernel.tactics().size(), kernels.size());
  for (const auto& [tactic, name] : kernels) {
    EXPECT_THAT(kernel.tactics(), testing::Contains(tactic));
    OneKernel by_tactic = kernel;
    by_tactic.tactic = tactic;
    EXPECT_EQ(expect_kernel(by_tactic), name + ":upcast");
  }
  kernel.inputs[0] = numbers(ElementType::kBFloat16, {1, 32, 9, 9}, 1);
  kernel.inputs[1] = numbers(ElementType::kBFloat16, {48, 32, 3, 3}, 2);
  kernel.tactic = "";
  EXPECT_THAT(kernel.tactics(), testing::Not(testing::Contains("bf16x3")));  // it has kernels of its own
}

// Every half, what lies in the middle between two, and what lies beside that.
TEST(Narrow, FloatsAreRoundedToHalves) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<float> floats{kInfinity, -kInfinity,    65519.0F,        65520.0F, -65520.0F,
                            1e30F,     std::nanf(""), -std::nanf("7"), 0x1p-26F, -0.0F};
  std::vector<uint16_t> narrow(0x7C00);
  std::iota(narrow.begin(), narrow.end(), uint16_t{0});
  std::vector<float> exact(narrow.size());
  upcast_f16(narrow.data(), static_cast<int64_t>(narrow.size()), exact.data());
  for (size_t i = 0; i + 1 < exact.size(); ++i) {
    const float middle = (exact[i] + exact[i + 1]) / 2;
    for (const float each : {exact[i], middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e6F)}) {
      floats.push_back(each);
      floats.push_back(-each);
    }
  }
  const std::vector<double> reals(floats.begin(), floats.end());
  const auto size = static_cast<int64_t>(floats.size());
  const auto wanted = Tensor::from_doubles(ElementType::kFloat16, {size}, reals);
  std::vector<uint16_t> rounded(floats.size());
  narrow_f16(floats.data(), size, rounded.data());
  const auto* bits = static_cast<const uint16_t*>(wanted.raw());
  for (size_t i = 0; i < floats.size(); ++i) {
    if (std::isnan(floats[i]))
      EXPECT_EQ(rounded[i] & 0x7FFF, 0x7E00) << i;
    else
      ASSERT_EQ(rounded[i], bits[i]) << floats[i];
  }
}

TEST(Narrow, WeightsThatAreNotKnown) {
  for (const ElementType type : kNarrow)
    expect_kernel({.node = {"Conv", 11, {}},
                   .inputs = {numbers(type, {1, 3, 5, 5}, 1), numbers(type, {4, 3, 3, 3}, 2)},
                   .tolerance = ulp_of(type)});
}

TEST(Narrow, Products) {
  for (const ElementType type : kNarrow) {
    for (const bool known : {true, false})
      expect_kernel({.node = {"MatMul", 13, {}},
                     .inputs = {numbers(type, {3, 5, 33}, 1), numbers(type, {33, 17}, 2)},
                     .constants = known ? std::set<size_t>{1} : std::set<size_t>{},
                     .tolerance = ulp_of(type)});
    expect_kernel({.node = {"MatMul", 13, {}},
                   .inputs = {numbers(type, {2, 3, 5, 9}, 1), numbers(type, {2, 3, 9, 4}, 2)},
                   .tolerance = ulp_of(type)});
    // The constant row is the product's bias, of its own type.
    expect_kernel({.node = {"Gemm", 13, {{"transB", Attribute(int64_t{1})}}},
                   .inputs = {numbers(type, {5, 33}, 1), numbers(type, {17, 33}, 2), numbers(type, {17}, 3)},
                   .constants = {1, 2},
                   .tolerance = ulp_of(type)});
  }
}

TEST(Narrow, Pools) {
  const AttributeMap window = {{"kernel_shape", Attribute(std::vector<int64_t>{3, 3})},
                               {"strides", Attribute(std::vector<int64_t>{2, 2})},
                               {"pads", Attribute(std::vector<int64_t>{1, 1, 1, 1})}};
  for (const ElementType type : kNarrow) {
    for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast}) {
      for (const char* op : {"MaxPool", "AveragePool"})
        expect_kernel({.node = {op, 19, window},
                       .inputs = {numbers(type, {2, 5, 9, 8}, 1)},
                       .layout = layout,
                       .tolerance = ulp_of(type)});
      expect_kernel({.node = {"GlobalAveragePool", 1, {}},
                     .inputs = {numbers(type, {2, 5, 9, 8}, 1)},
                     .layout = layout,
                     .tolerance = ulp_of(type)});
    }
  }
}

TEST(Narrow, InfinityAndNaNAreKept) {
  for (const ElementType type : kNarrow) {
    const double inf = HUGE_VAL, nan = std::nan("");
    expect_kernel(
        {.node = {"MatMul", 13, {}},
         .inputs = {Tensor::from_doubles(type, {4, 2}, std::vector<double>{inf, 1, nan, 2, -inf, 3, 1, 1}),
                    Tensor::from_doubles(type, {2, 1}, std::vector<double>{1, 2})},
         .constants = {1},
         .tolerance = ulp_of(type)});
  }
}

TEST(Narrow, WhatOverflowsIsInfinite) {
  expect_kernel(
      {.node = {"MatMul", 13, {}},
       .inputs = {Tensor::from_doubles(ElementType::kFloat16, {1, 2}, std::vector<double>{60000, 60000}),
                  Tensor::from_doubles(ElementType::kFloat16, {2, 1}, std::vector<double>{1, 1})},
       .tolerance = 1e-3});
}

}  // namespace
}  // namespace vernier::cpu

// Products of floats and bfloat16 in registers: every shape of block and share, and what they are offered
// for.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"

namespace vernier::cpu {
namespace {

constexpr const char* kName = "cpu:vectors";

class VectorProducts : public testing::TestWithParam<ElementType> {
 protected:
  void SetUp() override { VERNIER_NEEDS(kBf16); }

  static OneKernel one(const char* op, const Dims& x, const Dims& w, AttributeMap attributes = {},
                       int64_t biases = 0) {
    OneKernel kernel{{op, 13, std::move(attributes)},
                     {random_tensor(GetParam(), x, 1, false), random_tensor(GetParam(), w, 2, false)},
                     {1}};
    if (biases > 0) {
      kernel.inputs.push_back(random_tensor(GetParam(), {biases}, 3, false));
      kernel.constants.insert(2);
    }
    if (kernel.node.op == "Conv") kernel.layout = Layout::kChannelsLast;
    kernel.tactic = kVectorProducts;
    kernel.tolerance = GetParam() == ElementType::kFloat ? 2e-4 : 1e-2;
    return kernel;
  }
};

INSTANTIATE_TEST_SUITE_P(Types, VectorProducts, testing::Values(ElementType::kFloat, ElementType::kBFloat16));

TEST_P(VectorProducts, RowsDepthsAndColumns) {
  for (const int64_t rows : {1, 12, 13, 97}) {
    for (const int64_t depth : {2, 30, 64}) {
      for (const int64_t columns : {16, 17, 32, 72})
        one("MatMul", {rows, depth}, {depth, columns}).expect(kName);
    }
  }
  one("MatMul", {2, 50, 64}, {64, 48}).expect(kName);
  one("MatMul", {40, 96}, {96, 640}).expect(kName);     // threads share columns
  one("MatMul", {1200, 512}, {512, 40}).expect(kName);  // several groups of rows
}

TEST_P(VectorProducts, Gemms) {
  const AttributeMap transposed{{"transB", Attribute(int64_t{1})}};
  one("Gemm", {20, 64}, {48, 64}, transposed, 48).expect(kName);
  one("Gemm", {20, 64}, {64, 48}, {}, 48).expect(kName);
}

TEST_P(VectorProducts, PixelsAreRows) {
  one("Conv", {2, 24, 9, 7}, {40, 24, 1, 1}, {}, 40).expect(kName);
  one("Conv", {1, 64, 30}, {16, 64, 1}).expect(kName);
}

TEST_P(VectorProducts, WhatDoesNotFitIsRefused) {
  const auto refused = [](OneKernel kernel) { EXPECT_FALSE(kernel.run()) << kernel.node.op; };
  refused(one("MatMul", {20, 64}, {64, 15}));  // vectors that are mostly empty
  refused(one("Conv", {1, 32, 8, 8}, {16, 32, 3, 3}));
  refused(one("Conv", {1, 32, 8, 8}, {16, 16, 1, 1}, {{"group", Attribute(int64_t{2})}}));
  refused(one("Conv", {1, 32, 8, 8}, {16, 32, 1, 1}, {{"strides", Attribute(std::vector<int64_t>{2, 2})}}));
  if (GetParam() == ElementType::kBFloat16)  // half a VNNI group
    one("MatMul", {20, 63}, {63, 32}).expect("cpu:vectors:upcast");
  auto unknown = one("MatMul", {20, 64}, {64, 32});
  unknown.constants.clear();
  refused(unknown);
}

TEST_P(VectorProducts, AreForProcessorsWithoutTiles) {
  for (const OneKernel& kernel :
       {one("MatMul", {20, 64}, {64, 48}), one("Conv", {1, 24, 9, 7}, {40, 24, 1, 1})}) {
    const auto offered = kernel.tactics();
    EXPECT_EQ(std::count(offered.begin(), offered.end(), kVectorProducts), has_bf16_tiles() ? 0 : 1);
  }
}

}  // namespace
}  // namespace vernier::cpu

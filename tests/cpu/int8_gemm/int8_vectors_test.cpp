// Products of int8 in registers against the reference, bit by bit: every shape of block, zero points, and
// what follows the sums.
#include <gmock/gmock.h>

#include "cpu/int8_product.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/gemm/vector_contraction.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

constexpr const char* kByConstants = "cpu:vectors";
constexpr const char* kBatches = "cpu:vectors:batches";

class Int8Vectors : public testing::Test {
 protected:
  void SetUp() override { VERNIER_NEEDS(kBf16); }

  static cpu::OneKernel product(const Int8Case& each, ElementType type, double zero_point,
                                double result_scale) {
    return int8_product(each, type, zero_point, result_scale, cpu::kInt8Vectors);
  }

  // QLinearMatMul of two matrices, or more, that are not known.
  static cpu::OneKernel batches(const Dims& a, ElementType a_type, double a_zero, const Dims& b,
                                ElementType b_type, double b_zero) {
    cpu::OneKernel kernel{{"QLinearMatMul", 10, {}},
                          {bytes(a_type, a, 1), byte_scalar(0.25), byte_scalar(a_zero, a_type),
                           bytes(b_type, b, 2), byte_scalar(0.125), byte_scalar(b_zero, b_type),
                           byte_scalar(64), byte_scalar(a_type == kU8 ? 131 : -3, a_type)},
                          {1, 2, 4, 5, 6, 7}};
    kernel.tactic = cpu::kInt8Vectors;
    return kernel;
  }
};

TEST_F(Int8Vectors, RowsDepthsAndColumns) {
  for (const int64_t rows : {1, 11, 12, 13, 24, 97, 200}) {
    for (const int64_t depth : {4, 60, 64, 200}) {
      for (const int64_t columns : {16, 17, 32, 72})
        product({{rows, depth}, {depth, columns}}, rows % 2 == 0 ? kU8 : kS8, 5, 16).expect(kByConstants);
    }
  }
  product({{2100, 64}, {64, 40}}, kU8, 0, 16).expect(kByConstants);
  product({{1200, 1024}, {1024, 80}}, kS8, -128, 32).expect(kByConstants);  // several groups of rows
  product({{40, 768}, {768, 640}}, kU8, 77, 32).expect(kByConstants);       // threads share columns
}

TEST_F(Int8Vectors, AccumulatorsOfTheLargestInt8) {
  for (const int64_t depth : {int64_t{64}, cpu::kMostBytes}) {
    cpu::OneKernel kernel = product({{16, depth}, {depth, 16}}, kU8, 0, std::ldexp(1.0, 20));
    std::memset(kernel.inputs[0].mutable_raw(), 0xFF, kernel.inputs[0].byte_size());
    std::memset(kernel.inputs[3].mutable_raw(), 0x80, kernel.inputs[3].byte_size());
    kernel.expect(kByConstants);
  }
  for (const int sign : {-1, 1}) {
    cpu::OneKernel kernel = batches({16, 32768}, kU8, sign < 0 ? 255 : 0, {32768, 16}, kU8, 0);
    kernel.inputs[6] = byte_scalar(std::ldexp(1.0, 20));
    std::memset(kernel.inputs[0].mutable_raw(), sign < 0 ? 0 : 0xFF, kernel.inputs[0].byte_size());
    std::memset(kernel.inputs[3].mutable_raw(), 0xFF, kernel.inputs[3].byte_size());
    kernel.expect(kBatches);
  }
}

TEST_F(Int8Vectors, PixelsAreRows) {
  product({{2, 64, 14, 13}, {40, 64, 1, 1}}, kU8, 9, 16).expect(kByConstants);
  product({{1, 24, 7, 7}, {96, 24, 1, 1}}, kS8, -77, 32).expect(kByConstants);
  product({{3, 64, 40}, {72, 64, 1}}, kU8, 255, 16).expect(kByConstants);
}

TEST_F(Int8Vectors, WhatFollowsTheSums) {
  for (int variant = 0; variant < 4; ++variant) {
    SCOPED_TRACE(variant);
    Maker make;
    const Dims dims{1, 56, 9, 8};
    Value* x = make.dequantize(make.input(kU8, {1, 32, 9, 8}, 1), 0.125, 3, kU8);
    Value* y = make.node("Conv", {x, make.weights({56, 32, 1, 1}, 0, 2), make.bias(56)});
    if (variant == 1) y = make.node("Relu", {y});
    if (variant >= 2) y = make.node("Add", {y, make.dequantize(make.input(kS8, dims, 3), 0.5, -9, kS8)});
    if (variant == 3) y = make.node("Relu", {y});
    EXPECT_THAT(make.run(make.quantize(y, 8, 21, kU8), "qconv", cpu::kInt8Vectors),
                ElementsAre(kByConstants));
  }
}

// Added to sums as they are, or rounded before; all columns, and rows in pairs and alone.
TEST_F(Int8Vectors, AResidual) {
  for (const int64_t columns : {16, 17, 32, 72}) {
    for (const bool rounds : {false, true}) {
      for (const ElementType type : {kU8, kS8}) {
        for (const ElementType other_type : {kU8, kS8}) {
          SCOPED_TRACE(columns);
          Maker make;
          Value* x = make.dequantize(make.input(kU8, {37, 64}, 1), 0.125, 3, kU8);
          Value* y = make.node("MatMul", {x, make.weights({64, columns}, 1, 2)});
          if (rounds) y = make.dequantize(make.quantize(y, 8, 101, kU8), 8, 101, kU8);
          Value* other = make.dequantize(make.input(other_type, {37, columns}, 3), 4, 77, other_type);
          y = make.node("Relu", {make.node("Add", {y, other})});
          EXPECT_THAT(
              make.run(make.quantize(y, 8, type == kU8 ? 3 : -100, type), "qmatmul", cpu::kInt8Vectors),
              ElementsAre(kByConstants));
        }
      }
    }
  }
}

// A bias between two roundings, perhaps of other scales, and perhaps a residual: all columns, and rows in
// pairs and alone.
TEST_F(Int8Vectors, ABiasThatIsRoundedBefore) {
  for (const int64_t columns : {17, 32, 72}) {
    for (const bool adds : {false, true}) {
      for (const double scale : {8.0, 2.0}) {
        for (const ElementType type : {kU8, kS8}) {
          SCOPED_TRACE(columns);
          Maker make;
          Value* x = make.dequantize(make.input(kU8, {13, 64}, 1), 0.125, 3, kU8);
          Value* y = make.quantize(make.node("MatMul", {x, make.weights({64, columns}, 1, 2)}), 8, 101, kU8);
          y = make.node("Add", {make.dequantize(y, 8, 101, kU8), make.bias(columns)});
          if (adds) {
            y = make.dequantize(make.quantize(y, scale, 9, kU8), scale, 9, kU8);
            Value* other = make.dequantize(make.input(type, {13, columns}, 3), 0.5, 9, type);
            y = make.node("Add", {y, other});
          }
          EXPECT_THAT(make.run(make.quantize(y, scale, 21, type), "qmatmul", cpu::kInt8Vectors),
                      ElementsAre(kByConstants));
        }
      }
    }
  }
}

TEST_F(Int8Vectors, Batches) {
  for (const ElementType a_type : {kU8, kS8}) {
    for (const ElementType b_type : {kU8, kS8}) {
      for (const double b_zero : {0.0, 100.0}) {
        const auto expect = [&](const Dims& a, const Dims& b) {
          SCOPED_TRACE(dims_text(a) + " by " + dims_text(b));
          batches(a, a_type, a_type == kU8 ? 200 : -5, b, b_type, b_zero).expect(kBatches);
        };
        expect({3, 20, 64}, {3, 64, 128});
        expect({2, 3, 100, 68}, {2, 3, 68, 17});
        expect({2, 1, 5, 12}, {1, 4, 12, 40});  // both are repeated
        expect({1, 300, 256}, {1, 256, 130});   // threads share the rows
        batches({2, 8, 4}, a_type, 0, {2, 4, 16}, b_type, b_type == kU8 ? 128 : 0).expect(kBatches);
      }
    }
  }
}

TEST_F(Int8Vectors, BatchesOfGroups) {
  Maker make;
  Value* a = make.dequantize(make.input(kU8, {2, 30, 64}, 1), 0.0625, 7, kU8);
  Value* b = make.dequantize(make.input(kU8, {2, 64, 48}, 2), 0.125, 99, kU8);
  Value* y = make.quantize(make.node("MatMul", {a, b}), 64, 3, kU8);
  EXPECT_THAT(make.run(y, "qmatmul", cpu::kInt8Vectors), ElementsAre(kBatches));
}

TEST_F(Int8Vectors, WhatDoesNotFitIsRefused) {
  const auto refused = [](cpu::OneKernel kernel) { EXPECT_FALSE(kernel.run()) << kernel.node.op; };
  refused(product({{16, 30}, {30, 32}}, kU8, 1, 16));             // VNNI groups that are not whole
  refused(product({{16, 32}, {32, 15}}, kU8, 1, 16));             // vectors that are mostly empty
  refused(product({{1, 32, 8, 8}, {16, 32, 3, 3}}, kU8, 1, 16));  // windows of more than a pixel
  refused(product({{1, 32, 8, 8}, {16, 32, 1, 1}, {{"strides", Attribute(std::vector<int64_t>{2, 2})}}}, kU8,
                  1, 16));
  refused(product({{1, 32, 8, 8}, {16, 32, 1, 1}, window({0, 1, 0, 1})}, kU8, 1, 16));
  auto kernel = product({{16, 32}, {32, 32}}, kU8, 1, 16);
  kernel.inputs[5] = Tensor::from_doubles(kS8, {32}, std::vector<double>(32, 1));  // weights with zero points
  refused(kernel);
  refused(batches({4, 30}, kU8, 1, {30, 32}, kU8, 0));
  refused(batches({4, 32772}, kU8, 1, {32772, 16}, kU8, 0));
  kernel = batches({4, 32}, kU8, 1, {32, 32}, kU8, 0);
  kernel.constants.erase(5);  // a zero point that is not known
  refused(kernel);
}

TEST_F(Int8Vectors, FaultsGoIntoThem) {
  Maker make;
  Value* x = make.dequantize(make.input(kU8, {40, 64}, 1), 0.125, 3, kU8);
  Value* y = make.quantize(make.node("MatMul", {x, make.weights({64, 48}, 1, 2)}), 8, 5, kU8);
  BuildOptions options;
  options.fault = FaultSpec{Fault::kZeroPoint, ""};
  EXPECT_FALSE(make.outputs(y, cpu::kInt8Vectors, options).identical(make.outputs(y, cpu::kInt8Vectors)));
}

}  // namespace
}  // namespace vernier

// MatMul of floats and integers, and MatMulInteger: 8-bit inputs less their zero points, accumulated in
// INT32. A zero point is one number, one per row of the first input, or one per column of the second.
#include "vernier/ops/support/math/matmul.h"

#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

void matmul_reference(ReferenceContext& context) {
  const Dims &a = context.dims(0), &b = context.dims(1);
  visit_ring(context, [&]<class T>(T) {
    const auto left = product_operand<T>(context, 0), right = product_operand<T>(context, 1);
    store_arithmetic(context, 0, matmul_shape(a, b), matmul(left.span(), a, right.span(), b));
  });
}

void infer_matmul_integer(InferContext& context) {
  infer_matmul(context, ElementType::kInt32);
}

void matmul_integer(ReferenceContext& context) {
  const Dims &a = context.dims(0), &b = context.dims(1);
  Dims row_zeros = context.has(2) ? context.dims(2) : Dims{};
  if (row_zeros.size() == 1 && row_zeros[0] != 1) row_zeros.push_back(1);  // one per row
  // Products of such numbers and their sums are exact in double.
  const auto left = subtract_zero_point(context, 0, 2, row_zeros),
             right = subtract_zero_point(context, 1, 3, context.has(3) ? context.dims(3) : Dims{});
  context.store(0, matmul_shape(a, b), matmul<double>(left, a, right, b));
}

}  // namespace

void register_matmul(OpRegistry& registry) {
  registry.add({.op = "MatMul",
                .operands = {Role::kData, Role::kWeight},
                .traits = kContraction | kSums | kProducts,
                .precision = PrecisionClass::kAlways,
                .since = {13, 1},
                .output_channels = -1,
                .infer =
                    [](InferContext& context) {
                      require_one_type(context, 0, 2);
                      infer_matmul(context, context.element(0));
                    },
                .reference = matmul_reference,
                .flops = matmul_flops});
  registry.add({.op = "MatMulInteger",
                .operands = {Role::kData, Role::kWeight, Role::kZeroPoint, Role::kWeightZeroPoint},
                .optional_inputs = 2,
                .traits = kContraction,
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .output_channels = -1,
                .infer = infer_matmul_integer,
                .reference = matmul_integer,
                .flops = matmul_flops});
}

}  // namespace vernier::ops

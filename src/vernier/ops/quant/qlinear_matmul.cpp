// QLinearMatMul: numpy.matmul of two quantized tensors, quantized. Scales and zero points are of the whole
// tensor, of each row of a, or of each column of b; so they leave the sums, which are exact.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/matmul.h"
#include "vernier/ops/support/quant/quantization.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kYScale, kYZeroPoint };

// Sizes of a scale or zero point as they broadcast to the factor.
Dims aligned(Dims dims, size_t factor, const Dims& factor_dims) {
  if (element_count(dims) == 1) return {};
  if (factor == kA && dims.size() == 1 && factor_dims.size() > 1) dims.push_back(1);  // one for each row
  return dims;
}

Dims aligned(const ReferenceContext& context, size_t parameter, size_t factor) {
  return aligned(context.dims(parameter), factor, context.dims(factor));
}

void require_zero_point(const InferContext& context, size_t parameter, size_t factor) {
  const auto dims = known_dims(context, parameter), factor_dims = known_dims(context, factor);
  if (dims && factor_dims && broadcast(*factor_dims, aligned(*dims, factor, *factor_dims)) != *factor_dims)
    throw bad_input("zero points {} for {}", dims_text(*dims), dims_text(*factor_dims));
}

void infer_qlinear_matmul(InferContext& context) {
  // All inputs are required: a scale that is left out is not 1. This throws where one is missing.
  for (size_t i = 0; i <= kYZeroPoint; ++i) context.info(i);
  require_zero_point(context, kAZeroPoint, kA);
  require_zero_point(context, kBZeroPoint, kB);
  const auto &a = context.shape(kA), &b = context.shape(kB);
  context.set_output(0, context.element(kYZeroPoint),
                     a && b ? std::optional(matmul_shape(*a, *b)) : std::nullopt);
}

void reference_qlinear_matmul(ReferenceContext& context) {
  const auto a = subtract_zero_point(context, kA, kAZeroPoint, aligned(context, kAZeroPoint, kA));
  const auto b = subtract_zero_point(context, kB, kBZeroPoint, aligned(context, kBZeroPoint, kB));
  auto product = matmul<double>(a, context.dims(kA), b, context.dims(kB));
  const Dims dims = context.out_dims(0);
  multiply_scale(context, kAScale, aligned(context, kAScale, kA), dims, product);
  multiply_scale(context, kBScale, aligned(context, kBScale, kB), dims, product);
  store_quantized(context, 0, dims, std::move(product), affine_of(context, kYScale, kYZeroPoint));
}

}  // namespace

void register_qlinear_matmul(OpRegistry& registry) {
  registry.add({.op = "QLinearMatMul",
                .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kWeight, Role::kWeightScale,
                             Role::kWeightZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .since = kNoNarrowFloats,
                .output_channels = -1,
                .infer = infer_qlinear_matmul,
                .reference = reference_qlinear_matmul,
                .flops = matmul_flops});
}

}  // namespace vernier::ops

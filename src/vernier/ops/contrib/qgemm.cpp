// com.microsoft QGemm: Y = alpha * (A - a_zero) * (B - b_zero) * a_scale * b_scale + bias, where the bias C
// is of INT32 with the scale alpha * a_scale * b_scale. Parameters of B are of the tensor or of each column.
// Y is FLOAT where it has no scale.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/gemm_layout.h"
#include "vernier/ops/support/nn/fused_epilogue.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kC, kYScale, kYZeroPoint };

void infer_qgemm(InferContext& context) {
  const ElementType type = context.has(kYZeroPoint) ? context.element(kYZeroPoint) : ElementType::kFloat;
  const auto &a = context.shape(kA), &b = context.shape(kB);
  context.set_output(0, type, std::nullopt);
  if (a && b) context.set_output(0, type, GemmLayout(context.node()).product(*a, *b));
}

// One parameter, or one for each column of op(B).
Dims aligned(const ReferenceContext& context, size_t parameter, bool transposed) {
  const int64_t count = context.in(parameter).size();
  if (count == 1) return {};
  return transposed ? Dims{count, 1} : Dims{count};
}

void reference_qgemm(ReferenceContext& context) {
  const GemmLayout layout(context.node());
  const Dims dims = context.out_dims(0);
  const auto a = subtract_zero_point(context, kA, kAZeroPoint, {});
  const auto b =
      subtract_zero_point(context, kB, kBZeroPoint, aligned(context, kBZeroPoint, layout.transpose_b));
  auto sums = layout.multiply(a.data(), context.dims(kA), b.data(), context.dims(kB));
  add_bias(context, kC, dims, sums);
  multiply_scale(context, kBScale, aligned(context, kBScale, false), dims, sums);
  const double factor =
      static_cast<double>(real_attribute(context.node(), "alpha")) * context.real(kAScale, 1);
  for (double& sum : sums) sum *= factor;
  if (context.has(kYScale) && context.has(kYZeroPoint)) {
    store_quantized(context, 0, dims, std::move(sums), affine_of(context, kYScale, kYZeroPoint));
  } else {
    context.store(0, dims, sums);
  }
}

}  // namespace

void register_qgemm(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "QGemm",
                .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kWeight, Role::kWeightScale,
                             Role::kWeightZeroPoint, Role::kBias, Role::kResultScale, Role::kResultZeroPoint},
                .optional_inputs = 3,
                .attributes = {{"alpha", "FLOAT"}, {"transA", "INT"}, {"transB", "INT"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .output_channels = -1,
                .infer = infer_qgemm,
                .reference = reference_qgemm,
                .flops = gemm_flops});
}

}  // namespace vernier::ops

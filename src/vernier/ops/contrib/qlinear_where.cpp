// com.microsoft QLinearWhere: Where over quantized tensors, Z = quantize(condition ? X : Y).
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kCondition, kX, kXScale, kXZeroPoint, kY, kYScale, kYZeroPoint, kZScale, kZZeroPoint };

void infer_qlinear_where(InferContext& context) {
  const auto &condition = context.shape(kCondition), &x = context.shape(kX), &y = context.shape(kY);
  const bool known = condition && x && y;
  context.set_output(0, context.element(kX),
                     known ? std::optional(broadcast(broadcast(*x, *y), *condition)) : std::nullopt);
}

void reference_qlinear_where(ReferenceContext& context) {
  const auto condition = context.reals(kCondition);
  const auto x = dequantize(context, kX, affine_of(context, kXScale, kXZeroPoint));
  const auto y = dequantize(context, kY, affine_of(context, kYScale, kYZeroPoint));
  const Dims &condition_dims = context.dims(kCondition), &x_dims = context.dims(kX),
             &y_dims = context.dims(kY);
  const Dims dims = context.out_dims(0);
  std::vector<double> z(static_cast<size_t>(element_count(dims)));
  for_each_broadcast<3>(
      dims, {&condition_dims, &x_dims, &y_dims},
      [&](int64_t begin, int64_t count, std::array<int64_t, 3> at, std::array<int64_t, 3> step) {
        for (int64_t i = 0; i < count; ++i) {
          z[static_cast<size_t>(begin + i)] = condition[at[0] + i * step[0]] != 0
                                                  ? x[static_cast<size_t>(at[1] + i * step[1])]
                                                  : y[static_cast<size_t>(at[2] + i * step[2])];
        }
      });
  store_quantized(context, 0, dims, std::move(z), affine_of(context, kZScale, kZZeroPoint));
}

}  // namespace

void register_qlinear_where(OpRegistry& registry) {
  registry.add({.domain = "com.microsoft",
                .op = "QLinearWhere",
                .operands = {Role::kMask, Role::kData, Role::kScale, Role::kZeroPoint, Role::kData,
                             Role::kScale, Role::kZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
                .traits = kPointwise,
                .infer = infer_qlinear_where,
                .reference = reference_qlinear_where});
}

}  // namespace vernier::ops

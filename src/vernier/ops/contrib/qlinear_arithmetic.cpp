// com.microsoft QLinearAdd, QLinearMul: broadcasting arithmetic of quantized tensors, C = quantize(f(A, B)).
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

enum Input : size_t { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint, kCScale, kCZeroPoint };

void infer_qlinear_arithmetic(InferContext& context) {
  const auto &a = context.shape(kA), &b = context.shape(kB);
  context.set_output(0, context.element(kA), a && b ? std::optional(broadcast(*a, *b)) : std::nullopt);
}

template <class Op>
void reference_qlinear_arithmetic(ReferenceContext& context) {
  const Elements<double> a(dequantize(context, kA, affine_of(context, kAScale, kAZeroPoint)));
  const Elements<double> b(dequantize(context, kB, affine_of(context, kBScale, kBZeroPoint)));
  const Dims dims = broadcast(context.dims(kA), context.dims(kB));
  store_quantized(context, 0, dims, zip<double>(a, context.dims(kA), b, context.dims(kB), dims, Op()),
                  affine_of(context, kCScale, kCZeroPoint));
}

template <class Op>
void add(OpRegistry& registry, const char* name) {
  registry.add({.domain = "com.microsoft",
                .op = name,
                .operands = {Role::kData, Role::kScale, Role::kZeroPoint, Role::kData, Role::kScale,
                             Role::kZeroPoint, Role::kResultScale, Role::kResultZeroPoint},
                .optional_inputs = 1,
                .traits = kPointwise,
                .infer = infer_qlinear_arithmetic,
                .reference = reference_qlinear_arithmetic<Op>});
}

}  // namespace

void register_qlinear_arithmetic(OpRegistry& registry) {
  add<std::plus<double>>(registry, "QLinearAdd");
  add<std::multiplies<double>>(registry, "QLinearMul");
}

}  // namespace vernier::ops

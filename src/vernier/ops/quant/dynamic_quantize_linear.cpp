// DynamicQuantizeLinear: quantizes to UINT8 with a scale and a zero point that the range of x, extended to
// hold 0, gives.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/quant/dynamic_quantization.h"

namespace vernier::ops {

namespace {

void infer_dynamic_quantize_linear(InferContext& context) {
  context.set_output(0, ElementType::kUint8, context.shape(0));
  context.set_output(1, ElementType::kFloat, Shape{});
  context.set_output(2, ElementType::kUint8, Shape{});
}

void reference_dynamic_quantize_linear(ReferenceContext& context) {
  const auto x = context.reals(0);
  const Affine affine = dynamic_affine(x.span(), context.ideal());
  store_quantized(context, 0, context.dims(0), {x.span().begin(), x.span().end()}, affine);
  context.store(1, Dims{}, std::vector<double>{affine.scale});
  context.store(2, Dims{}, std::vector<double>{affine.zero_point});
}

}  // namespace

void register_dynamic_quantize_linear(OpRegistry& registry) {
  registry.add({.op = "DynamicQuantizeLinear",
                .operands = {Role::kData},
                .max_outputs = 3,
                .traits = kReduction,
                .precision = PrecisionClass::kNeverLower,
                .since = kNoNarrowFloats,
                .infer = infer_dynamic_quantize_linear,
                .reference = reference_dynamic_quantize_linear});
}

}  // namespace vernier::ops

// com.microsoft MatMulIntegerToFloat: dequantize(A) * dequantize(B) + bias, as reals.
// DynamicQuantizeMatMul: the same with a real A that is first quantized to UINT8 by its own range, as
// DynamicQuantizeLinear does. Parameters are of a tensor or of each of its columns.
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/matmul.h"
#include "vernier/ops/support/nn/fused_epilogue.h"
#include "vernier/ops/support/quant/dynamic_quantization.h"

namespace vernier::ops {

namespace {

enum IntegerInput : size_t { kA, kB, kAScale, kBScale, kAZeroPoint, kBZeroPoint, kBias };
enum DynamicInput : size_t { kRealA, kQuantizedB, kScale, kZeroPoint, kDynamicBias };

template <size_t Typed>
void infer_integer_matmul_to_float(InferContext& context) {
  infer_matmul(context, context.element(Typed));
}

void store_product(ReferenceContext& context, const std::vector<double>& a, const std::vector<double>& b,
                   size_t bias) {
  auto product = matmul<double>(a, context.dims(0), b, context.dims(1));
  add_bias(context, bias, context.out_dims(0), product);
  context.store(0, product);
}

void integer_reference(ReferenceContext& context) {
  store_product(context, dequantize_columns(context, kA, kAScale, kAZeroPoint),
                dequantize_columns(context, kB, kBScale, kBZeroPoint), kBias);
}

void dynamic_reference(ReferenceContext& context) {
  const auto x = context.reals(kRealA);
  store_product(context, dynamically_quantized(x.span(), context.ideal()),
                dequantize_columns(context, kQuantizedB, kScale, kZeroPoint), kDynamicBias);
}

}  // namespace

void register_integer_matmul_to_float(OpRegistry& registry) {
  OpDef def{.domain = "com.microsoft",
            .op = "MatMulIntegerToFloat",
            .operands = {Role::kData, Role::kWeight, Role::kScale, Role::kWeightScale, Role::kZeroPoint,
                         Role::kWeightZeroPoint, Role::kBias},
            .optional_inputs = 3,
            .traits = kContraction,
            .precision = PrecisionClass::kAlways,
            .output_channels = -1,
            .infer = infer_integer_matmul_to_float<kAScale>,
            .reference = integer_reference,
            .flops = matmul_flops};
  registry.add(def);
  def.op = "DynamicQuantizeMatMul";
  def.optional_inputs = 2;
  def.operands = {Role::kData, Role::kWeight, Role::kWeightScale, Role::kWeightZeroPoint, Role::kBias};
  def.infer = infer_integer_matmul_to_float<kRealA>;
  def.reference = dynamic_reference;
  registry.add(std::move(def));
}

}  // namespace vernier::ops

// DequantizeLinear: y = (x - zero point) * scale, the inverse of QuantizeLinear with the same granularities.
// The type of y is `output_dtype` (since 23), else that of the scale. com.microsoft has the same operator.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/optional_reals.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

void infer_dequantize_linear(InferContext& context) {
  const auto wanted = context.attribute<int64_t>("output_dtype", 0);
  if (wanted < 0 || wanted >= kElementTypeCount)
    throw bad_input("output_dtype {} is no element type", wanted);
  ElementType type = wanted == 0 ? context.element(1) : static_cast<ElementType>(wanted);
  if (type == ElementType::kFloat8E8M0) type = ElementType::kFloat;  // a scale, never a result
  if (!is_float(type)) throw bad_input("cannot dequantize to {}", element_type_name(type));
  require_granularity(context);
  context.set_output(0, type, context.shape(0));
}

void reference_dequantize_linear(ReferenceContext& context) {
  const Granularity grain =
      granularity_of(context.dims(0), context.dims(1), integer_attribute(context.node(), "axis"),
                     integer_attribute(context.node(), "block_size"));
  const auto x = context.reals(0), scale = context.reals(1);
  const auto zero_point = optional_reals(context, 2, scale.size());
  std::vector<double> y(static_cast<size_t>(x.size()));
  for_each_scaled_row(grain, [&](int64_t begin, int64_t count, int64_t at, int64_t step) {
    for (int64_t i = 0; i < count; ++i) {
      y[static_cast<size_t>(begin + i)] = (x[begin + i] - zero_point[at + i * step]) * scale[at + i * step];
    }
  });
  context.store(0, context.dims(0), y);
}

}  // namespace

void register_dequantize_linear(OpRegistry& registry) {
  OpDef def{.op = "DequantizeLinear",
            .operands = {Role::kData, Role::kScale, Role::kZeroPoint},
            .optional_inputs = 1,
            .attributes = {{"axis", "INT"}, {"block_size", "INT"}, {"output_dtype", "INT"}},
            .traits = kPointwise | kRoundsOnce,
            .precision = PrecisionClass::kStatesType,
            .since = {19, 19},
            .infer = infer_dequantize_linear,
            .reference = reference_dequantize_linear};
  registry.add(def);
  def.domain = "com.microsoft";
  def.attributes = {{"axis", "INT"}};
  registry.add(std::move(def));
}

}  // namespace vernier::ops

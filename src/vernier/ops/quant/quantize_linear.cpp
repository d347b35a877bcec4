// QuantizeLinear: y = saturate(round(x / scale) + zero point), for float types y = x / scale + zero point.
// Scales are of the whole tensor, of an axis (since 13) or of blocks along an axis (since 21). The type of
// the scale, or `precision` (since 23), is the type that the division rounds to. The type of y is that of the
// zero point, else `output_dtype` (since 21), else UINT8. com.microsoft has the same operator.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier::ops {

namespace {

void infer_quantize_linear(InferContext& context) {
  const auto wanted = context.attribute<int64_t>("output_dtype", 0);
  ElementType type = wanted == 0 ? ElementType::kUint8 : static_cast<ElementType>(wanted);
  if (wanted < 0 || wanted >= kElementTypeCount)
    throw bad_input("output_dtype {} is no element type", wanted);
  if (context.has(2)) {
    if (wanted != 0 && context.element(2) != type)
      throw bad_input("output_dtype differs from the type of the zero point");
    type = context.element(2);
  }
  if (!is_integer(type) && !is_float(type)) throw bad_input("cannot quantize to {}", element_type_name(type));
  require_granularity(context);
  context.set_output(0, type, context.shape(0));
}

// Calls f with the C++ type that the division rounds to: in ideal mode one that does not round.
template <class F>
void visit_division_type(const ReferenceContext& context, F f) {
  switch (context.ideal() ? ElementType::kDouble : division_type(context.node(), context.declared(1))) {
    case ElementType::kFloat16: return f(TypeTag<Float16>());
    case ElementType::kBFloat16: return f(TypeTag<BFloat16>());
    case ElementType::kDouble: return f(TypeTag<double>());
    default: return f(TypeTag<float>());
  }
}

// x / scale for every element.
std::vector<double> quotients(const ReferenceContext& context, const Granularity& grain) {
  const auto x = context.reals(0), scale = context.reals(1);
  std::vector<double> result(static_cast<size_t>(x.size()));
  visit_division_type(context, [&]<class T>(TypeTag<T>) {
    const auto rounded = [](double value) { return static_cast<double>(static_cast<T>(value)); };
    for_each_scaled_row(grain, [&](int64_t begin, int64_t count, int64_t at, int64_t step) {
      for (int64_t i = 0; i < count; ++i) {
        result[static_cast<size_t>(begin + i)] =
            rounded(rounded(x[begin + i]) / rounded(scale[at + i * step]));
      }
    });
  });
  return result;
}

void add_zero_point(const ReferenceContext& context, const Granularity& grain, std::vector<double>& values) {
  if (!context.has(2)) return;
  const auto zero_point = context.reals(2);
  if (zero_point.size() != context.in(1).size()) throw bad_input("scale and zero point differ in size");
  for_each_scaled_row(grain, [&](int64_t begin, int64_t count, int64_t at, int64_t step) {
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(begin + i)] += zero_point[at + i * step];
  });
}

void reference_quantize_linear(ReferenceContext& context) {
  const Granularity grain =
      granularity_of(context.dims(0), context.dims(1), integer_attribute(context.node(), "axis"),
                     integer_attribute(context.node(), "block_size"));
  auto values = quotients(context, grain);
  const ElementType type = context.out_type(0);
  if (context.ideal()) {
    add_zero_point(context, grain, values);
    context.emit(0, Tensor::from_doubles(ElementType::kDouble, context.dims(0), values));
    return;
  }
  if (is_integer(type)) {
    for (double& value : values) value = std::nearbyint(value);
  }
  add_zero_point(context, grain, values);
  const ValueRange range = value_range(type);
  if (is_integer(type)) {
    for (double& value : values) value = saturate(value, range);
  } else if (integer_attribute(context.node(), "saturate") != 0) {
    for (double& value : values) value = std::isnan(value) ? value : saturate(value, range);
  }
  context.store(0, context.dims(0), values);
}

}  // namespace

void register_quantize_linear(OpRegistry& registry) {
  OpDef def{.op = "QuantizeLinear",
            .operands = {Role::kData, Role::kResultScale, Role::kResultZeroPoint},
            .optional_inputs = 1,
            .attributes = {{"axis", "INT"},
                           {"saturate", "INT"},
                           {"block_size", "INT"},
                           {"output_dtype", "INT"},
                           {"precision", "INT"}},
            .traits = kPointwise,
            .precision = PrecisionClass::kNeverLower,
            .since = kNoNarrowFloats,
            .infer = infer_quantize_linear,
            .reference = reference_quantize_linear};
  registry.add(def);
  def.domain = "com.microsoft";
  def.attributes = {{"axis", "INT"}};
  registry.add(std::move(def));
}

}  // namespace vernier::ops

// Cast and CastLike: any element type to any other (support/cast.h). `to` was a type's name before opset 6;
// 8-bit floats with `saturate` came in opset 19, FLOAT8E8M0 with `round_mode` in 24.
#include "vernier/ops/support/cast.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"

namespace vernier::ops {

namespace {

ElementType wanted_type(const InferContext& context) {
  if (context.node().op == "CastLike") return context.element(1);
  const Attribute* to = context.node().find_attribute("to");
  if (to == nullptr) throw bad_input("Cast needs the attribute 'to'");
  std::optional<ElementType> type;
  if (context.version() < 6) {
    type = parse_element_type(context.attribute<std::string>("to", ""));
  } else {
    const auto number = context.attribute<int64_t>("to", 0);
    if (number > 0 && number < kElementTypeCount) type = static_cast<ElementType>(number);
  }
  if (!type) throw bad_input("the attribute 'to' names no element type");
  return *type;
}

void infer_cast(InferContext& context) {
  const ElementType to = wanted_type(context);
  context.set_output(0, to, context.shape(0));
  follow_unary(context, [to](const Dim& x) -> std::optional<Dim> {
    if (to != ElementType::kBool) return x;
    if (x == Dim(0)) return x;
    return proven_positive(x) || proven_positive(Dim(0) - x) ? std::optional(Dim(1)) : std::nullopt;
  });
}

// Ideal mode: a float is never rounded, nor a quantized value on its way to what is stored unrounded, too.
Tensor cast_ideally(const ReferenceContext& context, const CastOptions& options) {
  const Tensor& x = context.in(0);
  const ElementType to = context.out_storage(0);
  if (to == ElementType::kDouble || !is_float(x.type()) || !is_integer(context.declared(0)))
    return cast(x, to, options);
  auto values = x.to_doubles();
  for (double& value : values) value = std::nearbyint(value);
  return cast(Tensor::from_doubles(ElementType::kDouble, x.dims(), values), to, options);
}

void reference_cast(ReferenceContext& context) {
  CastOptions options;
  options.saturate = integer_attribute(context.node(), "saturate") != 0;
  options.round_mode = context.attribute<std::string>("round_mode", "up");
  if (options.round_mode != "up" && options.round_mode != "down" && options.round_mode != "nearest") {
    throw bad_input("round_mode is '{}', not 'up', 'down' or 'nearest'", options.round_mode);
  }
  context.emit(0, context.ideal() ? cast_ideally(context, options)
                                  : cast(context.in(0), context.out_type(0), options));
}

}  // namespace

void register_cast(OpRegistry& registry) {
  registry.add({.op = "Cast",
                .operands = {Role::kData},
                .attributes = {{"to", "INT"}, {"saturate", "INT"}, {"round_mode", "STRING"}},
                .traits = kPointwise | kRoundsOnce,
                .precision = PrecisionClass::kStatesType,
                .since = {13, 1},
                .infer = infer_cast,
                .reference = reference_cast});
  registry.add({.op = "CastLike",
                .operands = {Role::kData, Role::kSetting},
                .attributes = {{"saturate", "INT"}, {"round_mode", "STRING"}},
                .traits = kPointwise | kRoundsOnce,
                .precision = PrecisionClass::kStatesType,
                .since = {15, 15},
                .infer = infer_cast,
                .reference = reference_cast});
}

}  // namespace vernier::ops

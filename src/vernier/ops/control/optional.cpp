// Optional, OptionalHasElement, OptionalGetElement. An optional that holds a value is that value (tensor.h),
// so putting in and taking out copy nothing. Since 18, the latter two also take tensors and sequences, which
// always hold a value, and OptionalHasElement may have no input at all.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

namespace {

void infer_optional(InferContext& context) {
  if (context.has(0)) return context.set_type(0, ValueType::optional(context.type(0)));
  const Attribute* type = context.node().find_attribute("type");
  if (type == nullptr) throw bad_input("an Optional without input needs the attribute 'type'");
  context.set_type(0, ValueType::optional(type->get<ValueType>()));
}

void optional(ReferenceContext& context) {
  context.emit(0, context.has(0) ? context.datum(0) : Datum::none());
}

void infer_has_element(InferContext& context) {
  context.set_output(0, ElementType::kBool, Shape{});
  const bool undecided = context.has(0) && context.type(0).kind == ValueType::Kind::kOptional;
  if (!undecided) context.set_constant(0, Tensor::from<bool>(ElementType::kBool, {}, {context.has(0)}));
}

void has_element(ReferenceContext& context) {
  const bool holds = context.has(0) && context.datum(0).kind != Datum::Kind::kNone;
  context.emit(0, Tensor::from<bool>(ElementType::kBool, {}, {holds}));
}

void infer_get_element(InferContext& context) {
  const ValueType& type = context.type(0);
  if (type.kind != ValueType::Kind::kOptional) {
    context.outputs().at(0) = context.info(0);
  } else if (type.element) {
    context.set_type(0, *type.element);
  } else {
    throw bad_input("the optional has no element type");
  }
}

void get_element(ReferenceContext& context) {
  if (context.datum(0).kind == Datum::Kind::kNone) throw bad_input("the optional holds no element");
  context.emit(0, context.datum(0));
}

}  // namespace

void register_optional(OpRegistry& registry) {
  registry.add({.op = "Optional",
                .operands = {Role::kData},
                .optional_inputs = 1,
                .attributes = {{"type", "TYPE_PROTO"}},
                .traits = kView,
                .since = kNoNarrowFloats,
                .infer = infer_optional,
                .reference = optional});
  registry.add({.op = "OptionalHasElement",
                .operands = {Role::kData},
                .optional_inputs = 1,
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_has_element,
                .reference = has_element});
  registry.add({.op = "OptionalGetElement",
                .operands = {Role::kData},
                .traits = kView,
                .since = {0, 15},
                .infer = infer_get_element,
                .reference = get_element});
}

}  // namespace vernier::ops

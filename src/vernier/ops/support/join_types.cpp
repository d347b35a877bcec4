#include "vernier/ops/support/join_types.h"

namespace vernier::ops {

namespace {

TensorType join_tensors(const TensorType& a, const TensorType& b, const MeetDims& meet) {
  const bool known = a.element != ElementType::kUndefined && b.element != ElementType::kUndefined;
  if (known && a.element != b.element)
    throw bad_input("a value is {} in one place and {} in another", a.text(), b.text());
  TensorType joined{a.element == ElementType::kUndefined ? b.element : a.element, std::nullopt};
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return joined;
  joined.shape.emplace();
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const Dim &left = (*a.shape)[i], &right = (*b.shape)[i];
    joined.shape->push_back(left == right ? left : meet(left, right));
  }
  return joined;
}

}  // namespace

ValueType join_types(const ValueType& a, const ValueType& b, const MeetDims& meet) {
  using Kind = ValueType::Kind;
  if (a.kind != b.kind && a.kind == Kind::kOptional && a.element)
    return ValueType::optional(join_types(*a.element, b, meet));
  if (a.kind != b.kind && b.kind == Kind::kOptional && b.element)
    return ValueType::optional(join_types(a, *b.element, meet));
  if (a.kind != b.kind) throw bad_input("a value is {} in one place and {} in another", a.text(), b.text());
  if (a.kind == Kind::kMap && a.tensor.element != b.tensor.element)
    throw bad_input("a value is {} in one place and {} in another", a.text(), b.text());
  ValueType joined;
  joined.kind = a.kind;
  joined.tensor.element = a.tensor.element;
  if (a.is_tensor())
    joined.tensor = join_tensors(a.tensor, b.tensor, meet);
  else if (!a.element || !b.element)
    joined.element = a.element ? a.element : b.element;
  else
    joined.element = std::make_shared<const ValueType>(join_types(*a.element, *b.element, meet));
  return joined;
}

ValueType join_types(const InferContext& context, const ValueType& a, const ValueType& b) {
  return join_types(a, b, [&](const Dim&, const Dim&) { return context.fresh("varying"); });
}

const ValueType& sequence_element(const InferContext& context, size_t input) {
  const ValueType& type = context.type(input);
  if (type.kind != ValueType::Kind::kSequence || !type.element) {
    throw bad_input("input {} of {} must be a sequence, not {}", input, context.node().op, type.text());
  }
  return *type.element;
}

ValueType taken_element(const InferContext& context, size_t input) {
  ValueType element = sequence_element(context, input);
  if (element.is_tensor() && element.tensor.shape) {
    for (Dim& dim : *element.tensor.shape) {
      if (dim.has_fresh()) dim = context.fresh("element");
    }
  }
  return element;
}

}  // namespace vernier::ops

// ConcatFromSequence: puts the tensors of a sequence together along an axis they have, or, with new_axis=1,
// along a new one.
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/join_types.h"
#include "vernier/ops/support/movement/tensor_parts.h"

namespace vernier::ops {

namespace {

bool makes_axis(const Node& node) {
  return node.attribute<int64_t>("new_axis", 0) != 0;
}

void infer_concat_from_sequence(InferContext& context) {
  ValueType type = taken_element(context, 0);
  if (!type.is_tensor()) throw bad_input("the sequence must hold tensors, not {}", type.text());
  if (auto& shape = type.tensor.shape) {
    const bool new_axis = makes_axis(context.node());
    const auto rank = static_cast<int64_t>(shape->size()) + (new_axis ? 1 : 0);
    const int64_t axis = normalize_axis(context.attribute<int64_t>("axis", 0), rank);
    if (new_axis) shape->insert(shape->begin() + axis, Dim());
    (*shape)[static_cast<size_t>(axis)] = context.fresh("concat");
  }
  context.set_type(0, std::move(type));
}

void reference_concat_from_sequence(ReferenceContext& context) {
  std::vector<Tensor> parts;
  for (const Datum& element : context.datum(0).as_sequence()) parts.push_back(element.as_tensor());
  const auto axis = context.attribute<int64_t>("axis", 0);
  context.emit(0, makes_axis(context.node()) ? stack_axis(parts, axis) : concat_axis(parts, axis));
}

}  // namespace

void register_concat_from_sequence(OpRegistry& registry) {
  registry.add({.op = "ConcatFromSequence",
                .operands = {Role::kData},
                .attributes = {{"axis", "INT"}, {"new_axis", "INT"}},
                .traits = kDataMovement,
                .since = {0, 11},
                .infer = infer_concat_from_sequence,
                .reference = reference_concat_from_sequence});
}

}  // namespace vernier::ops

// Concat: joins tensors along an axis. Before opset 4 the axis could be left out and was 1.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

size_t axis_of(const Node& node, size_t rank) {
  if (node.version >= 4 && node.find_attribute("axis") == nullptr) throw bad_input("Concat has no axis");
  return static_cast<size_t>(normalize_axis(integer_attribute(node, "axis"), static_cast<int64_t>(rank)));
}

// Copies `part` to where it lies in the whole, and moves `offset` behind it.
template <class Elements>
void append(const Elements& part, const Dims& part_dims, size_t axis, const Dims& dims, Elements& whole,
            int64_t& offset) {
  const Placement target{offset, strides_of(dims)};
  copy_placed(part, dense(part_dims), whole, target, part_dims);
  offset += part_dims[axis] * target.strides[axis];
}

void follow_content(InferContext& context, size_t axis) {
  std::vector<Content> parts;
  int64_t length = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    auto part = content_of(context, i);
    if (!part) return;
    length += part->dims[axis];
    parts.push_back(std::move(*part));
  }
  Dims dims = parts[0].dims;
  dims[axis] = length;
  const int64_t count = element_count(dims);
  if (count > kMaxFollowedElements) return;
  std::vector<Dim> whole(static_cast<size_t>(count));
  int64_t offset = 0;
  for (const Content& part : parts) append(part.elements, part.dims, axis, dims, whole, offset);
  context.set_dims(0, std::move(whole));
}

void infer_concat(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  Shape result;
  Dim length;
  bool first = true, all_known = true;
  for (size_t i = 0; i < context.input_count(); ++i) {
    if (context.element(i) != context.element(0))
      throw bad_input("the inputs of Concat are of different types");
    const auto& shape = context.shape(i);
    if (!shape) {
      all_known = false;
      continue;
    }
    const size_t axis = axis_of(context.node(), shape->size());
    length = length + (*shape)[axis];
    Shape others = *shape;
    others[axis] = 0;
    result = first ? others : same_shape(result, others);
    first = false;
  }
  if (first) return;
  const size_t axis = axis_of(context.node(), result.size());
  result[axis] = all_known ? length : context.fresh("concat");
  context.set_output(0, context.element(0), std::move(result));
  if (all_known) follow_content(context, axis);
}

void reference_concat(ReferenceContext& context) {
  Tensor& output = context.allocate(0);
  const size_t axis = axis_of(context.node(), output.dims().size());
  int64_t offset = 0;
  for (size_t i = 0; i < context.input_count(); ++i) {
    const Tensor part = stored_as(context.in(i), output.type());
    append(part, part.dims(), axis, output.dims(), output, offset);
  }
}

}  // namespace

void register_concat(OpRegistry& registry) {
  registry.add({.op = "Concat",
                .operands = {Role::kData},
                .repeats = 1,
                .attributes = {{"axis", "INT"}},
                .traits = kDataMovement,
                .since = {13, 1},
                .infer = infer_concat,
                .reference = reference_concat,
                .flops = no_flops});
}

}  // namespace vernier::ops

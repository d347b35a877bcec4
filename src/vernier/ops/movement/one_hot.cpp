// OneHot: a new axis of `depth` elements, the on value where the index is, the off value elsewhere. Indices
// may count from the back; outside of [-depth, depth) every element is off.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

size_t axis_of(const Node& node, size_t rank) {
  return static_cast<size_t>(normalize_axis(integer_attribute(node, "axis"), static_cast<int64_t>(rank)));
}

void infer_one_hot(InferContext& context) {
  context.set_output(0, context.element(2), std::nullopt);
  const auto depth = truncated_content(context, 1);
  if (depth && depth->size() != 1) throw bad_input("the depth of OneHot has {} elements", depth->size());
  const auto& indices = context.shape(0);
  if (!indices) return;
  Shape result = *indices;
  const auto axis = static_cast<std::ptrdiff_t>(axis_of(context.node(), indices->size() + 1));
  result.insert(result.begin() + axis, depth ? checked_size(depth->front()) : context.fresh("depth"));
  context.set_output(0, context.element(2), std::move(result));
}

void reference_one_hot(ReferenceContext& context) {
  Tensor& output = context.allocate(0);
  const Tensor values = stored_as(context.in(2), output.type());
  if (values.size() != 2)
    throw bad_input("the values of OneHot must be [off, on], not {} elements", values.size());
  const size_t axis = axis_of(context.node(), output.dims().size());
  const int64_t depth = output.dims()[axis], inner = product(output.dims(), axis + 1, output.dims().size());
  const auto indices = truncated_ints(context.in(0));
  std::vector<int64_t> picks(static_cast<size_t>(output.size()), 0);
  for (int64_t i = 0; i < static_cast<int64_t>(indices.size()); ++i) {
    const int64_t index = indices[static_cast<size_t>(i)];
    if (index < -depth || index >= depth) continue;
    const int64_t at = index < 0 ? index + depth : index;
    picks[static_cast<size_t>((i / inner * depth + at) * inner + i % inner)] = 1;
  }
  gather_blocks(values, picks, 1, output);
}

}  // namespace

void register_one_hot(OpRegistry& registry) {
  registry.add({.op = "OneHot",
                .operands = {Role::kIndices, Role::kSizes, Role::kData},
                .attributes = {{"axis", "INT"}},
                .traits = kDataMovement,
                .since = {0, 9},
                .infer = infer_one_hot,
                .reference = reference_one_hot,
                .flops = no_flops});
}

}  // namespace vernier::ops

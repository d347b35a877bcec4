// Split: cuts a tensor along an axis. The sizes of the parts are an attribute (opset 1 to 12) or an input (1,
// and from 13); without them the parts are equal, and from opset 18 on the last may be smaller. `num_outputs`
// came with 18.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

size_t axis_of(const Node& node, size_t rank) {
  return static_cast<size_t>(normalize_axis(integer_attribute(node, "axis"), static_cast<int64_t>(rank)));
}

bool has_sizes(const Node& node) {
  return node.input(1) != nullptr || node.find_attribute("split") != nullptr;
}

// Part `index` of `count` nearly equal ones, for every size: rounded up, the last ones get what is left.
Dim nearly_equal_part(const Dim& size, int64_t index, int64_t count) {
  Dim part = ceildiv(size, count);
  if (index == 0 || exact_quotient(size, count)) return part;
  Dim left = size - part * index;
  return count == 2 ? left : min(part, max(left, 0));
}

std::vector<Dim> equal_parts(const Node& node, const Dim& size) {
  const auto outputs = static_cast<int64_t>(node.outputs.size());
  const int64_t count = node.attribute<int64_t>("num_outputs", outputs);
  if (count < outputs || count < 1 || count > kMaxFollowedElements) {
    throw bad_input("num_outputs is {}, but the node has {} outputs", count, outputs);
  }
  if (node.version < 18 && size.is_constant() && *size.constant() % count != 0) {
    throw bad_input("{} cannot be split into {} equal parts", size.text(), count);
  }
  std::vector<Dim> sizes;
  for (int64_t i = 0; i < outputs; ++i) {
    sizes.push_back(node.version < 18 ? floordiv(size, count) : nearly_equal_part(size, i, count));
  }
  return sizes;
}

const std::vector<Dim>& checked_parts(const Node& node, const Dim& size, const std::vector<Dim>& sizes) {
  if (sizes.size() != node.outputs.size()) {
    throw bad_input("there are {} sizes for {} outputs", sizes.size(), node.outputs.size());
  }
  Dim sum;
  for (const Dim& part : sizes) sum = sum + checked_size(part);
  same_size(sum, size);
  return sizes;
}

// The sizes of the parts of an axis of this size. `given` is the content of the input, which may be unknown.
std::optional<std::vector<Dim>> part_sizes(const Node& node, const Dim& size,
                                           const std::optional<std::vector<Dim>>& given) {
  if (!has_sizes(node)) return equal_parts(node, size);
  if (given) return checked_parts(node, size, *given);
  if (node.input(1) != nullptr) return std::nullopt;
  return checked_parts(node, size, to_shape(node.attribute<std::vector<int64_t>>("split", {})));
}

// Cuts the content of input 0, of which every size is known.
void follow_content(InferContext& context, const Content& content, size_t axis,
                    const std::vector<int64_t>& sizes) {
  Placement source = dense(content.dims);
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dims dims = content.dims;
    dims[axis] = sizes[i];
    std::vector<Dim> part(static_cast<size_t>(element_count(dims)));
    copy_placed(content.elements, source, part, dense(dims), dims);
    source.offset += sizes[i] * source.strides[axis];
    context.set_dims(i, std::move(part));
  }
}

void infer_split(InferContext& context) {
  for (size_t i = 0; i < context.output_count(); ++i) context.set_output(i, context.element(0), std::nullopt);
  const auto& input = context.shape(0);
  if (!input) return;
  const size_t axis = axis_of(context.node(), input->size());
  const auto found = part_sizes(context.node(), (*input)[axis],
                                context.has(1) ? truncated_content(context, 1) : std::nullopt);
  const Shape sizes = found ? *found : fresh_shape(context, context.output_count(), "split");
  for (size_t i = 0; i < sizes.size(); ++i) {
    Shape part = *input;
    part[axis] = sizes[i];
    context.set_output(i, context.element(0), std::move(part));
  }
  const auto content = content_of(context, 0);
  const auto known = to_dims(sizes);
  if (content && known) follow_content(context, *content, axis, *known);
}

void reference_split(ReferenceContext& context) {
  const Tensor& input = context.in(0);
  const size_t axis = axis_of(context.node(), input.dims().size());
  std::optional<std::vector<Dim>> given;
  if (context.has(1)) given = to_shape(truncated_ints(context.in(1)));
  const auto sizes = *to_dims(*part_sizes(context.node(), input.dims()[axis], given));
  Placement source = dense(input.dims());
  for (size_t i = 0; i < sizes.size(); ++i) {
    Dims dims = input.dims();
    dims[axis] = sizes[i];
    if (context.wants(i)) copy_placed(input, source, context.allocate(i, dims), dense(dims), dims);
    source.offset += sizes[i] * source.strides[axis];
  }
}

}  // namespace

void register_split(OpRegistry& registry) {
  registry.add({.op = "Split",
                .operands = {Role::kData, Role::kSizes},
                .optional_inputs = 1,
                .max_outputs = kVariadic,
                .attributes = {{"axis", "INT"}, {"split", "INTS"}, {"num_outputs", "INT"}},
                .traits = kDataMovement,
                .since = {13, 1},
                .infer = infer_split,
                .reference = reference_split,
                .flops = no_flops});
}

}  // namespace vernier::ops

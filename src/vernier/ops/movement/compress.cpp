// Compress: the slices along `axis`, or the elements of the flattened input, where the condition is true.
// Elements behind the end of the condition are left out.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/index_offsets.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

std::optional<size_t> axis_of(const Node& node, size_t rank) {
  if (node.find_attribute("axis") == nullptr) return std::nullopt;
  return static_cast<size_t>(normalize_axis(node.attribute<int64_t>("axis", 0), static_cast<int64_t>(rank)));
}

std::vector<int64_t> true_positions(const std::vector<int64_t>& condition) {
  std::vector<int64_t> positions;
  for (size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

IndexedBlocks selected(const Node& node, const Dims& dims, const std::vector<int64_t>& positions) {
  const auto axis = axis_of(node, dims.size());
  return axis ? axis_offsets(dims, *axis, positions) : axis_offsets({element_count(dims)}, 0, positions);
}

void follow_content(InferContext& context, const std::vector<int64_t>& positions) {
  const auto content = content_of(context, 0);
  if (!content) return;
  const auto picked = selected(context.node(), content->dims, positions);
  std::vector<Dim> taken(picked.offsets.size() * static_cast<size_t>(picked.block));
  gather_blocks(content->elements, picked.offsets, picked.block, taken);
  context.set_dims(0, std::move(taken));
}

void infer_compress(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto condition = context.ints(1);
  const auto positions = condition ? std::optional(true_positions(*condition)) : std::nullopt;
  const Dim count = positions ? Dim(static_cast<int64_t>(positions->size())) : context.fresh("compress");
  Shape result = {count};
  if (context.node().find_attribute("axis") != nullptr) {
    if (!context.shape(0)) return;
    result = *context.shape(0);
    result[*axis_of(context.node(), result.size())] = count;
  }
  context.set_output(0, context.element(0), std::move(result));
  if (positions) follow_content(context, *positions);
}

void reference_compress(ReferenceContext& context) {
  const auto picked = selected(context.node(), context.dims(0), true_positions(context.int_list(1)));
  gather_blocks(context.in(0), picked.offsets, picked.block, context.allocate(0));
}

}  // namespace

void register_compress(OpRegistry& registry) {
  registry.add({.op = "Compress",
                .operands = {Role::kData, Role::kMask},
                .attributes = {{"axis", "INT"}},
                .traits = kDataMovement,
                .since = {0, 9},
                .infer = infer_compress,
                .reference = reference_compress,
                .flops = no_flops});
}

}  // namespace vernier::ops

// Gather: slices along an axis, picked by indices. GatherElements: single elements, one index each. GatherND:
// slices picked by tuples of indices, after `batch_dims` shared axes (opset 12).
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/movement/index_offsets.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

size_t axis_of(const Node& node, size_t rank) {
  return static_cast<size_t>(normalize_axis(integer_attribute(node, "axis"), static_cast<int64_t>(rank)));
}

// The offsets of the three operators from sizes and indices.
using Offsets = IndexedBlocks (*)(const Node& node, const Dims& data, const Dims& index_dims,
                                  std::span<const int64_t> indices);

IndexedBlocks gather_offsets(const Node& node, const Dims& data, const Dims&,
                             std::span<const int64_t> indices) {
  return axis_offsets(data, axis_of(node, data.size()), indices);
}

IndexedBlocks gather_elements_offsets(const Node& node, const Dims& data, const Dims& index_dims,
                                      std::span<const int64_t> indices) {
  return element_offsets(data, axis_of(node, data.size()), index_dims, indices);
}

IndexedBlocks gather_nd_offsets(const Node& node, const Dims& data, const Dims& index_dims,
                                std::span<const int64_t> indices) {
  return tuple_offsets(data, integer_attribute(node, "batch_dims"), index_dims, indices);
}

// Follows the content of the data where the indices are known.
template <Offsets offsets_of>
void follow_content(InferContext& context) {
  const auto data = content_of(context, 0), indices = content_of(context, 1);
  if (!data || !indices) return;
  const auto known = to_dims(indices->elements);
  if (!known) return;
  // An index outside of the data is an error only if the node runs.
  IndexedBlocks picked;
  try {
    picked = offsets_of(context.node(), data->dims, indices->dims, *known);
  } catch (const Error&) {
    return;
  }
  const int64_t count = static_cast<int64_t>(picked.offsets.size()) * picked.block;
  if (count > kMaxFollowedElements) return;
  std::vector<Dim> gathered(static_cast<size_t>(count));
  gather_blocks(data->elements, picked.offsets, picked.block, gathered);
  context.set_dims(0, std::move(gathered));
}

void infer_gather(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &data = context.shape(0), &indices = context.shape(1);
  if (!data || !indices) return;
  const size_t axis = axis_of(context.node(), data->size());
  context.set_output(0, context.element(0), gathered_shape(*data, axis, *indices));
  follow_content<gather_offsets>(context);
}

void infer_gather_elements(InferContext& context) {
  context.set_output(0, context.element(0), context.shape(1));
  require_indices_fit(context.node(), context.shape(0), context.shape(1));
  follow_content<gather_elements_offsets>(context);
}

void infer_gather_nd(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &data = context.shape(0), &indices = context.shape(1);
  if (!data || !indices) return;
  if (indices->empty()) throw bad_input("the indices of GatherND must not be a scalar");
  const auto length = indices->back().constant();
  if (!length) return;
  const int64_t batch_dims = integer_attribute(context.node(), "batch_dims");
  const auto rank = static_cast<int64_t>(data->size());
  if (batch_dims < 0 || batch_dims > rank || *length < 0 || *length > rank - batch_dims ||
      batch_dims >= static_cast<int64_t>(indices->size())) {
    throw bad_input("indices {} do not fit data {} with {} batch axes", shape_text(*indices),
                    shape_text(*data), batch_dims);
  }
  Shape result(indices->begin(), indices->end() - 1);
  for (size_t i = 0; i < static_cast<size_t>(batch_dims); ++i) result[i] = same_size(result[i], (*data)[i]);
  result.insert(result.end(), data->begin() + batch_dims + *length, data->end());
  context.set_output(0, context.element(0), std::move(result));
  follow_content<gather_nd_offsets>(context);
}

template <Offsets offsets_of>
void reference_gather(ReferenceContext& context) {
  const auto indices = context.ints(1);
  const auto picked = offsets_of(context.node(), context.dims(0), context.dims(1), indices.span());
  gather_blocks(context.in(0), picked.offsets, picked.block, context.allocate(0));
}

}  // namespace

void register_gather(OpRegistry& registry) {
  const auto add = [&](const char* name, const char* attribute, TypesSince since, auto infer, auto compute) {
    registry.add({.op = name,
                  .operands = {Role::kData, Role::kIndices},
                  .attributes = {{attribute, "INT"}},
                  .traits = kDataMovement,
                  .since = since,
                  .infer = infer,
                  .reference = compute,
                  .flops = no_flops});
  };
  add("Gather", "axis", {13, 1}, infer_gather, reference_gather<gather_offsets>);
  add("GatherElements", "axis", {13, 11}, infer_gather_elements, reference_gather<gather_elements_offsets>);
  add("GatherND", "batch_dims", {13, 11}, infer_gather_nd, reference_gather<gather_nd_offsets>);
}

}  // namespace vernier::ops

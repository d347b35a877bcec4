// Scatter (deprecated) and ScatterElements write single elements along an axis, ScatterND writes slices at
// tuples of indices. `reduction` combines with what is there: add and mul from opset 16, min and max from 18.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/content.h"
#include "vernier/ops/support/math/extremum.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/math/wrapping.h"
#include "vernier/ops/support/movement/index_offsets.h"
#include "vernier/ops/support/movement/movement.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

using Offsets = IndexedBlocks (*)(const Node& node, const Dims& data, const Dims& index_dims,
                                  const Dims& updates, std::span<const int64_t> indices);

void require_updates(const Dims& updates, const Dims& wanted) {
  if (updates != wanted)
    throw bad_input("updates {} must be of the sizes {}", dims_text(updates), dims_text(wanted));
}

IndexedBlocks scatter_elements_offsets(const Node& node, const Dims& data, const Dims& index_dims,
                                       const Dims& updates, std::span<const int64_t> indices) {
  const auto rank = static_cast<int64_t>(data.size());
  const auto axis = static_cast<size_t>(normalize_axis(integer_attribute(node, "axis"), rank));
  require_updates(updates, index_dims);
  return element_offsets(data, axis, index_dims, indices);
}

IndexedBlocks scatter_nd_offsets(const Node&, const Dims& data, const Dims& index_dims, const Dims& updates,
                                 std::span<const int64_t> indices) {
  auto result = tuple_offsets(data, 0, index_dims, indices);
  Dims wanted(index_dims.begin(), index_dims.end() - 1);
  wanted.insert(wanted.end(), data.begin() + index_dims.back(), data.end());
  require_updates(updates, wanted);
  return result;
}

// The sizes that updates must have.
void require_updates(const InferContext& context) {
  const auto &data = context.shape(0), &indices = context.shape(1);
  if (!data || !indices) return;
  if (context.node().op != "ScatterND") {
    require_indices_fit(context.node(), data, indices);
    return require_shape(context, 2, *indices);
  }
  const auto length = indices->empty() ? std::nullopt : indices->back().constant();
  if (!length || *length > static_cast<int64_t>(data->size())) return;
  Shape wanted(indices->begin(), indices->end() - 1);
  wanted.insert(wanted.end(), data->begin() + *length, data->end());
  require_shape(context, 2, wanted);
}

std::string reduction_of(const Node& node) {
  return text_attribute(node, "reduction");
}

template <Offsets offsets_of>
void infer_scatter(InferContext& context) {
  context.set_type(0, ValueType::of(context.element(0), context.shape(0)));
  if (context.element(2) != context.element(0))
    throw bad_input("the updates of {} are of another type than the data", context.node().op);
  require_updates(context);
  if (reduction_of(context.node()) != "none") return;
  auto data = content_of(context, 0);
  const auto indices = content_of(context, 1), updates = content_of(context, 2);
  const auto known = indices ? to_dims(indices->elements) : std::nullopt;
  if (!data || !updates || !known) return;
  // An index outside of the data is an error only if the node runs.
  IndexedBlocks picked;
  try {
    picked = offsets_of(context.node(), data->dims, indices->dims, updates->dims, *known);
  } catch (const Error&) {
    return;
  }
  scatter_blocks(updates->elements, picked.offsets, picked.block, data->elements);
  context.set_dims(0, std::move(data->elements));
}

// Combines in the arithmetic of the stored type, so that sums of many updates are rounded once.
template <class Combine>
void scatter_combined(ReferenceContext& context, const IndexedBlocks& at, Combine combine) {
  visit_arithmetic(context.out_storage(0), [&]<class T>(T) {
    const auto data = arithmetic_elements<T>(context, 0), updates = arithmetic_elements<T>(context, 2);
    std::vector<T> result(data.data(), data.data() + data.size());
    for (size_t i = 0; i < at.offsets.size(); ++i) {
      for (int64_t k = 0; k < at.block; ++k) {
        T& target = result[static_cast<size_t>(at.offsets[i] + k)];
        target = combine(target, updates[static_cast<int64_t>(i) * at.block + k]);
      }
    }
    store_arithmetic(context, 0, context.dims(0), result);
  });
}

void scatter_reduced(ReferenceContext& context, const IndexedBlocks& at, const std::string& reduction) {
  if (reduction == "add") {
    scatter_combined(context, at, []<class T>(T a, T b) { return wrapping_add(a, b); });
  } else if (reduction == "mul") {
    scatter_combined(context, at, []<class T>(T a, T b) { return wrapping_multiply(a, b); });
  } else if (reduction == "min") {
    scatter_combined(context, at, []<class T>(T a, T b) { return minimum(a, b); });
  } else if (reduction == "max") {
    scatter_combined(context, at, []<class T>(T a, T b) { return maximum(a, b); });
  } else {
    throw bad_input("reduction '{}' is none of none, add, mul, min and max", reduction);
  }
}

template <Offsets offsets_of>
void reference_scatter(ReferenceContext& context) {
  const auto indices = context.ints(1);
  const auto at =
      offsets_of(context.node(), context.dims(0), context.dims(1), context.dims(2), indices.span());
  const std::string reduction = reduction_of(context.node());
  if (reduction != "none") return scatter_reduced(context, at, reduction);
  Tensor result = stored_as(context.in(0), context.out_storage(0));
  scatter_blocks(stored_as(context.in(2), result.type()), at.offsets, at.block, result);
  context.emit(0, std::move(result));
}

}  // namespace

void register_scatter(OpRegistry& registry) {
  const auto add = [&](const char* name, const std::vector<AttributeSpec>& attributes, TypesSince since,
                       auto infer_scatter, auto compute) {
    registry.add({.op = name,
                  .operands = {Role::kData, Role::kIndices, Role::kData},
                  .attributes = attributes,
                  .traits = kDataMovement,
                  .since = since,
                  .infer = infer_scatter,
                  .reference = compute,
                  .flops = no_flops});
  };
  add("Scatter", {{"axis", "INT"}}, {0, 9}, infer_scatter<scatter_elements_offsets>,
      reference_scatter<scatter_elements_offsets>);
  add("ScatterElements", {{"axis", "INT"}, {"reduction", "STRING"}}, {13, 11},
      infer_scatter<scatter_elements_offsets>, reference_scatter<scatter_elements_offsets>);
  add("ScatterND", {{"reduction", "STRING"}}, {13, 11}, infer_scatter<scatter_nd_offsets>,
      reference_scatter<scatter_nd_offsets>);
}

}  // namespace vernier::ops

#include "vernier/ops/support/math/reduce_axes.h"

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

namespace {

// The axes as given; nothing if an input that holds them is not known.
std::optional<std::vector<int64_t>> given_axes(const InferContext& context) {
  if (!axes_are_input(context.node())) return context.attribute<std::vector<int64_t>>("axes", {});
  return context.has(1) ? context.ints(1) : std::vector<int64_t>{};
}

// Gives what is known when the values of the axes are not. Two of several may be the same.
std::optional<Shape> open_shape(const InferContext& context, size_t rank, bool keeps) {
  if (!keeps) {
    const auto& axes = context.shape(1);
    const auto count = axes && axes->size() == 1 ? (*axes)[0].constant() : std::nullopt;
    if (count != 1 || rank == 0) return std::nullopt;
    --rank;
  }
  Shape shape;
  for (size_t i = 0; i < rank; ++i) shape.push_back(context.fresh("reduced"));
  return shape;
}

}  // namespace

bool axes_are_input(const Node& node) {
  return node.version >= (node.op == "ReduceSum" ? 13 : 18);
}

std::vector<bool> reduced_axes(const Node& node, const std::vector<int64_t>& axes, size_t rank) {
  if (axes.empty()) return std::vector<bool>(rank, node.attribute<int64_t>("noop_with_empty_axes", 0) == 0);
  std::vector<bool> reduced(rank, false);
  for (const int64_t axis : normalize_axes(axes, static_cast<int64_t>(rank)))
    reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

void infer_reduced(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto& in = context.shape(0);
  if (!in) return;
  const bool keeps = integer_attribute(context.node(), "keepdims") != 0;
  const auto axes = given_axes(context);
  if (!axes) return context.set_output(0, context.element(0), open_shape(context, in->size(), keeps));
  const auto reduced = reduced_axes(context.node(), *axes, in->size());
  Shape shape;
  for (size_t i = 0; i < in->size(); ++i) {
    if (!reduced[i])
      shape.push_back((*in)[i]);
    else if (keeps)
      shape.emplace_back(1);
  }
  context.set_output(0, context.element(0), std::move(shape));
}

bool reduces_all(const InferContext& context) {
  const auto axes = given_axes(context);
  if (!axes || !context.shape(0)) return false;
  const auto reduced = reduced_axes(context.node(), *axes, context.shape(0)->size());
  return std::find(reduced.begin(), reduced.end(), false) == reduced.end();
}

std::vector<int64_t> mean_variance_axes(const Node& node, size_t rank) {
  if (node.version >= 9)
    return normalize_axes(node.attribute<std::vector<int64_t>>("axes", {0, 2, 3}),
                          static_cast<int64_t>(rank));
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (axis != 1 || node.attribute<int64_t>("across_channels", 0) != 0)
      axes.push_back(static_cast<int64_t>(axis));
  }
  return axes;
}

StridedReduction reduction_of(const ReferenceContext& context) {
  std::vector<int64_t> axes;
  if (!axes_are_input(context.node()))
    axes = context.attribute<std::vector<int64_t>>("axes", {});
  else if (context.has(1))
    axes = context.int_list(1);
  const Dims& dims = context.dims(0);
  const auto reduced = reduced_axes(context.node(), axes, dims.size());
  const auto strides = strides_of(dims);
  StridedReduction reduction;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (reduced[i])
      reduction.reduce(dims[i], strides[i]);
    else
      reduction.keep(dims[i], strides[i]);
  }
  return reduction;
}

}  // namespace vernier::ops

// Shape: the sizes of a tensor as int64; from opset 15 only those of the axes [start, end). Size: their
// product.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/movement/movement.h"

namespace vernier::ops {

namespace {

// An axis number as the limits of Shape are given: from the back where negative, clamped to [0, rank].
size_t clamped_axis(int64_t axis, size_t rank) {
  const auto last = static_cast<int64_t>(rank);
  return static_cast<size_t>(std::clamp<int64_t>(axis < 0 ? axis + last : axis, 0, last));
}

template <class Size>
std::vector<Size> selected(const Node& node, const std::vector<Size>& sizes) {
  const size_t begin = clamped_axis(node.attribute<int64_t>("start", 0), sizes.size());
  const size_t end =
      clamped_axis(node.attribute<int64_t>("end", static_cast<int64_t>(sizes.size())), sizes.size());
  if (begin >= end) return {};
  return {sizes.begin() + static_cast<std::ptrdiff_t>(begin),
          sizes.begin() + static_cast<std::ptrdiff_t>(end)};
}

void infer_shape(InferContext& context) {
  const auto& input = context.shape(0);
  if (!input) return context.set_output(0, ElementType::kInt64, Shape{context.fresh("rank")});
  const Shape sizes = selected(context.node(), *input);
  context.set_output(0, ElementType::kInt64, Shape{static_cast<int64_t>(sizes.size())});
  context.set_dims(0, sizes);
}

void shape(ReferenceContext& context) {
  const Dims sizes = selected(context.node(), context.dims(0));
  context.store_ints(0, {static_cast<int64_t>(sizes.size())}, sizes);
}

void infer_size(InferContext& context) {
  context.set_output(0, ElementType::kInt64, Shape{});
  if (const auto& input = context.shape(0)) context.set_dims(0, {element_count(*input)});
}

void size(ReferenceContext& context) {
  context.store_ints(0, {}, std::vector<int64_t>{context.in(0).size()});
}

}  // namespace

void register_shape(OpRegistry& registry) {
  registry.add({.op = "Shape",
                .operands = {Role::kData},
                .attributes = {{"start", "INT"}, {"end", "INT"}},
                .traits = kReadsSizes,
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_shape,
                .reference = shape,
                .flops = no_flops});
  registry.add({.op = "Size",
                .operands = {Role::kData},
                .traits = kReadsSizes,
                .precision = PrecisionClass::kUntried,
                .since = kNoNarrowFloats,
                .infer = infer_size,
                .reference = size,
                .flops = no_flops});
}

}  // namespace vernier::ops

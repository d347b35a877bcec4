// Before opset 7, binary operators broadcast only with broadcast=1, and then the second input is aligned at
// `axis` (default: the last axes) of the first.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// The second input's shape under the node's rules, padded with ones so that numpy broadcasting does the rest.
template <class Size>
std::vector<Size> legacy_shape(const Node& node, const std::vector<Size>& a, std::vector<Size> b) {
  if (node.version >= 7 || !node.domain.empty() || node.attribute<int64_t>("broadcast", 0) == 0) return b;
  const int64_t axis =
      node.attribute<int64_t>("axis", static_cast<int64_t>(a.size()) - static_cast<int64_t>(b.size()));
  const int64_t at = axis < 0 ? axis + static_cast<int64_t>(a.size()) : axis;
  while (at >= 0 && static_cast<int64_t>(b.size()) + at < static_cast<int64_t>(a.size())) b.emplace_back(1);
  return b;
}

// Broadcast shape of inputs 0 and 1; nothing if a rank is unknown.
inline std::optional<Shape> align_legacy_broadcast(const InferContext& context) {
  const auto &a = context.shape(0), &b = context.shape(1);
  if (!a || !b) return std::nullopt;
  return broadcast(*a, legacy_shape(context.node(), *a, *b));
}

// Output 0 is of type `result` and of the broadcast shape of inputs 0 and 1, which must have one type.
inline void infer_binary(InferContext& context, ElementType result) {
  require_one_type(context, 0, 2);
  context.set_output(0, result, align_legacy_broadcast(context));
}

// Sizes of input 1, aligned.
inline Dims legacy_dims(const ReferenceContext& context) {
  return legacy_shape(context.node(), context.dims(0), context.dims(1));
}

}  // namespace vernier::ops

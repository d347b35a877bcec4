// Inference refuses operands of other sizes than those that follow from the others: kernels take them at
// their word.
#pragma once

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// The sizes of an input, if it is there and all of them are integers.
inline std::optional<Dims> known_dims(const InferContext& context, size_t input) {
  return context.has(input) && context.shape(input) ? to_dims(*context.shape(input)) : std::nullopt;
}

// Throws bad_input if an input that is there is known to have another shape than `wanted`.
inline void require_shape(const InferContext& context, size_t input, const Shape& wanted) {
  if (!context.has(input) || !context.shape(input)) return;
  const Shape& actual = *context.shape(input);
  bool fits = actual.size() == wanted.size();
  for (size_t i = 0; fits && i < wanted.size(); ++i) fits = actual[i].may_equal(wanted[i]);
  if (!fits) throw bad_input("input {} is {} instead of {}", input, shape_text(actual), shape_text(wanted));
}

// Throws bad_input if an input that is there is known not to broadcast to input 0 as that is.
inline void require_broadcast(const InferContext& context, size_t input) {
  if (!context.has(input) || !context.shape(input) || !context.shape(0)) return;
  const Shape &from = *context.shape(input), &to = *context.shape(0);
  bool fits = from.size() <= to.size();
  for (size_t i = 0; fits && i < from.size(); ++i)
    fits = from[i] == Dim(1) || from[i].may_equal(to[to.size() - from.size() + i]);
  if (!fits) throw bad_input("input {} is {} for an input {}", input, shape_text(from), shape_text(to));
}

}  // namespace vernier::ops

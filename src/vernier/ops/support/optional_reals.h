#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// An optional input of `count` elements, zeros where it is left out; throws bad_input for another size.
inline Elements<double> optional_reals(const ReferenceContext& context, size_t input, int64_t count) {
  if (!context.has(input)) return Elements<double>(std::vector<double>(static_cast<size_t>(count)));
  auto values = context.reals(input);
  if (values.size() != count)
    throw bad_input("input {} has {} elements instead of {}", input, values.size(), count);
  return values;
}

}  // namespace vernier::ops

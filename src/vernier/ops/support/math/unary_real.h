// Operators that compute one real number from each of the elements of their one input.
#pragma once

#include "vernier/ops/op_def.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

inline void add_unary_real(OpRegistry& registry, const char* name, std::vector<AttributeSpec> attributes,
                           void (*reference)(ReferenceContext&)) {
  registry.add({.op = name,
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = std::move(attributes),
                .traits = kPointwise,
                .infer = [](InferContext& context) { context.set_type(0, context.type(0)); },
                .reference = reference});
}

}  // namespace vernier::ops

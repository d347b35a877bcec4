// Operators that compute one real number from each of the elements of their one input, by a few operations
// unless their formulas cancel (OpDef::cancels_until).
#pragma once

#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/math/pointwise.h"

namespace vernier::ops {

inline void add_unary_real(OpRegistry& registry, const char* name, std::vector<AttributeSpec> attributes,
                           TypesSince since, void (*reference)(ReferenceContext&), double cancels_until = 0) {
  registry.add({.op = name,
                .operands = {Role::kData},
                .attributes = std::move(attributes),
                .traits = kPointwise | (cancels_until > 0 ? kFunction : kFewRoundings),
                .since = since,
                .cancels_until = cancels_until,
                .infer = [](InferContext& context) { context.set_type(0, context.type(0)); },
                .reference = reference});
}

}  // namespace vernier::ops

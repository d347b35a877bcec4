// What rules must know of a model beside the graph that its rewrites left.
#pragma once

#include "vernier/precision/asked/asked_types.h"

namespace vernier {

// What the model was before rewrites, and what is asked of it.
struct ModelFacts {
  PrecisionPlan declared;
  AskedTypes asked;
};

// A plan by rules tells "as the model declares" of nodes that retype_nodes made f32 because they hand on what
// is computed so: they are told of as such here. Notes how many nodes options like --bf16 do not concern,
// since the model declares them narrower than f32.
void say_what_is_declared(PrecisionPlan& plan, const ModelFacts& facts, const PrecisionOptions& options);

}  // namespace vernier

// The samples that a model gets at once.
#pragma once

#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

// How many there are, along the first axis of all inputs; 0 if that is not known, or one.
int64_t batch_of(const HypothesisContext& context);

}  // namespace vernier

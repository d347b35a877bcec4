// The axes of the Reduce operators: an attribute at first, an input since opset 13 (ReduceSum) or 18 (the
// others). No axes means all of them, or none with noop_with_empty_axes.
#pragma once

#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/strided_reduction.h"

namespace vernier::ops {

// Sets the type of output 0.
void infer_reduced(InferContext& context);
// True if every axis of input 0 is reduced; false where this is not known.
bool reduces_all(const InferContext& context);
// The walk over input 0 for this node.
StridedReduction reduction_of(const ReferenceContext& context);

}  // namespace vernier::ops

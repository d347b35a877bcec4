// The axes of the Reduce operators: an attribute at first, an input since opset 13 (ReduceSum) or 18 (the
// others). No axes means all of them, or none with noop_with_empty_axes.
#pragma once

#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/math/strided_reduction.h"

namespace vernier::ops {

// Sets the type of output 0.
void infer_reduced(InferContext& context);
// Whether the axes are input 1 and no attribute.
bool axes_are_input(const Node& node);
// For each axis, whether it is reduced, from the axes as given.
std::vector<bool> reduced_axes(const Node& node, const std::vector<int64_t>& axes, size_t rank);
// The axes that MeanVarianceNormalization takes its statistics along, counted from the front.
std::vector<int64_t> mean_variance_axes(const Node& node, size_t rank);
// True if every axis of input 0 is reduced; false where this is not known.
bool reduces_all(const InferContext& context);
// The walk over input 0 for this node.
StridedReduction reduction_of(const ReferenceContext& context);

}  // namespace vernier::ops

// Plans Resize and Upsample at known sizes.
#pragma once

#include "vernier/ops/support/resampling/resample.h"

namespace vernier::ops {

struct ResizePlan {
  ResampleRule rule;
  std::vector<ResampleAxis> axes;  // those that change
};

// Plans a Resize node for these sizes of input and output. `inputs` are the node's, null where left out; the
// first is not read. Throws bad_input for what contradicts itself.
ResizePlan resize_plan(const Node& node, const std::vector<const Tensor*>& inputs, const Dims& x,
                       const Dims& y);
// The same of Upsample.
ResizePlan upsample_plan(const Node& node, const std::vector<const Tensor*>& inputs, const Dims& x,
                         const Dims& y);

// The axes that sizes, scales and region are for.
std::vector<int64_t> resized_axes(const Node& node, size_t rank);
bool keeps_aspect(const Node& node);
// The one scale of all axes that fits into sizes, or covers them.
Ratio common_ratio(const Node& node, const std::vector<int64_t>& inputs, const std::vector<int64_t>& sizes);
// Upsample's scales where they are attributes; `rank` is that of the input.
std::vector<double> scale_attributes(const Node& node, size_t rank);

}  // namespace vernier::ops

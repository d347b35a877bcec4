// Post-ops that make of NaN and infinities what ONNX makes of them.
#pragma once

#include <functional>

#include "vernier/backends/cpu/onednn/primitive.h"

namespace vernier::cpu {

// Makes the primitive of a contraction with these post-ops; nothing, with `reason`, if there is none.
using MakeFused = std::function<std::unique_ptr<DnnlKernel>(const Fused& fused, std::string& reason)>;

// The kernel of a contraction and all of its post-ops.
//
// oneDNN's rectifier, clip, minimum, maximum, exponential and sigmoid make a number of a NaN, and some of its
// loops make NaN of a rectified infinity. Where they do, a thread raises its flag for invalid operations. So
// the primitive runs with all post-ops, and only if a flag was raised once more with those before the first
// of such functions; own loops compute the others. A residual that is summed in place is gone by then: there
// own loops follow in every case.
//
// `columns_axis` is the axis of the output along which a row of its memory lies. Nothing, with `reason`, if
// own loops cannot compute what oneDNN can.
std::unique_ptr<Kernel> with_exact_post_ops(const Fused& fused, const KernelRequest& request,
                                            size_t columns_axis, const MakeFused& make, std::string& reason);

}  // namespace vernier::cpu

// Asks a GPU whether a plan of cuDNN rounds its results once.
#pragma once

#include "vernier/backends/cuda/cudnn/cudnn.h"

namespace vernier::cuda {

// Runs the plan, of a convolution of 16 bits, on integers whose sums are exact in float but not in the type
// of the result, and compares elements from all over the result with the exact ones, rounded once. Nothing
// else tells: a sum that lies in working memory in 16 bits before something is added to it is off by no more
// than a bound of the element allows. False, too, for images that lie plain, where the memory for that is not
// there, and for a plan that does not run. Throws where the device is lost.
bool rounds_once(Cudnn& library, const DnnConvolution& asked, const DnnPlan& plan);

}  // namespace vernier::cuda

#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Whether a QuantizeLinear, or a Cast to bfloat16, reads the planes of a picture, which then become
// channels-last pixels on the way.
bool becomes_pixels(const KernelRequest& request);

}  // namespace vernier::cpu

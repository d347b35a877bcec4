#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

// Whether a QuantizeLinear reads the planes of a picture, which then become channels-last pixels on the way.
bool quantises_picture(const KernelRequest& request);

}  // namespace vernier::cpu

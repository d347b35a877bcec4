#pragma once

#include "vernier/ops/op_def.h"

namespace vernier::ops {

// Adds every operator; defined in a file that the build generates from the file names.
void register_all(OpRegistry& registry);

}  // namespace vernier::ops

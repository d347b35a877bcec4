// A device that computes what the host would, by the reference semantics.
#pragma once

#include "vernier/backends/shared/driver.h"

namespace vernier::mirror {

const AcceleratorKind& accelerator_kind();

}  // namespace vernier::mirror

// The CPU as the device of engines.
#pragma once

#include "vernier/backends/shared/driver.h"

namespace vernier::cpu {

const Driver& driver();

}  // namespace vernier::cpu

// The backends that this build has.
#pragma once

#include "vernier/backends/shared/driver.h"

namespace vernier {

// Its kernels run what no other device does.
const Driver& host_driver();

}  // namespace vernier

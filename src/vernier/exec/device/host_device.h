// The host as a device: work is done when a call returns.
#pragma once

#include "vernier/exec/device/device.h"

namespace vernier {

// Its memory is that of the process, its streams are the threads that call them.
Device& host_device();

}  // namespace vernier

#include "vernier/exec/backend.h"

#include "vernier/exec/device/host_device.h"

namespace vernier {

Device& Backend::device() const {
  return host_device();
}

}  // namespace vernier

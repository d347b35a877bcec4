#include "vernier/backends/installed/drivers.h"

#include "vernier/backends/cpu/driver.h"

namespace vernier {

const Driver& host_driver() {
  return cpu::driver();
}

}  // namespace vernier

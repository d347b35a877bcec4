#include "vernier/backends/installed/drivers.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/backends/cuda/driver.h"
#include "vernier/backends/simulated/driver.h"
#include "vernier/base/error.h"

namespace vernier {

const Driver& host_driver() {
  return cpu::driver();
}

std::shared_ptr<const Driver> accelerator_driver(const std::string& name,
                                                 const std::map<std::string, std::string>& options) {
  if (name == simulated::kName) return simulated::make_driver(simulated::parse_options(options));
  if (name == cuda::kName) return cuda::make_driver(cuda::parse_options(options));
  throw unsupported("this build of Vernier has no driver '{}'", name)
      .advise(fmt::format("it has: {}, {}, {}", host_driver().name(), simulated::kName, cuda::kName));
}

std::shared_ptr<const Driver> accelerator_driver(std::string_view device) {
  const size_t colon = device.find(':');
  const std::string name(device.substr(0, colon));
  std::map<std::string, std::string> options;
  if (colon != std::string_view::npos)
    options[name == simulated::kName ? "seed" : "device"] = device.substr(colon + 1);
  return accelerator_driver(name, options);
}

}  // namespace vernier

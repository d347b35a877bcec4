#include "vernier/backends/installed/drivers.h"

#include "vernier/backends/cpu/driver.h"
#include "vernier/base/error.h"

namespace vernier {

const Driver& host_driver() {
  return cpu::driver();
}

const AcceleratorKind* find_accelerator_kind(std::string_view name) {
  for (const AcceleratorKind* kind : accelerator_kinds()) {
    if (name == kind->name) return kind;
  }
  return nullptr;
}

std::shared_ptr<const Driver> accelerator_driver(const std::string& name,
                                                 const std::map<std::string, std::string>& options) {
  if (const AcceleratorKind* kind = find_accelerator_kind(name)) return kind->make(options);
  std::vector<std::string> names = {host_driver().name()};
  for (const AcceleratorKind* kind : accelerator_kinds()) names.emplace_back(kind->name);
  throw unsupported("this build of Vernier has no driver '{}'", name)
      .advise(fmt::format("it has: {}", fmt::join(names, ", ")));
}

std::shared_ptr<const Driver> accelerator_driver(std::string_view device) {
  const size_t colon = device.find(':');
  std::map<std::string, std::string> options;
  if (colon != std::string_view::npos) options["number"] = device.substr(colon + 1);
  return accelerator_driver(std::string(device.substr(0, colon)), options);
}

}  // namespace vernier

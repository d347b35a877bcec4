#include "vernier/engine/file/recorded_devices.h"

#include <nlohmann/json.hpp>

#include "vernier/backends/installed/drivers.h"
#include "vernier/precision/json.h"

namespace vernier {

namespace {

RecordedDevice record(const Driver& driver) {
  return {driver.name(), driver.instruction_sets(), driver.library_versions(), driver.options()};
}

std::shared_ptr<const Driver> driver_of(const RecordedDevice& device) {
  std::shared_ptr<const Driver> driver;
  try {
    driver = accelerator_driver(device.name, device.options);
  } catch (const Error& error) {
    throw unsupported("the engine was built for the device '{}', but {}", device.name, error.message())
        .advise("run it by the build of Vernier that made it, or build the engine here again");
  }
  const RecordedDevice here = record(*driver);
  if (here.text() != device.text())
    throw unsupported("the engine was built for the device '{}' with {}, but here it has {}", device.name,
                      device.text(), here.text())
        .advise("build the engine here again, from the model");
  return driver;
}

}  // namespace

std::string RecordedDevice::text() const {
  std::string text = fmt::format("instruction sets '{}', libraries '{}'", instruction_sets, libraries);
  for (const auto& [name, value] : options) text += fmt::format(", {} '{}'", name, value);
  return text;
}

std::vector<RecordedDevice> record_devices(const BuildOptions& options) {
  std::vector<RecordedDevice> devices;
  for (const auto& driver : options.accelerators) devices.push_back(record(*driver));
  return devices;
}

std::vector<std::shared_ptr<const Driver>> drivers_of(const std::vector<RecordedDevice>& devices) {
  std::vector<std::shared_ptr<const Driver>> drivers;
  drivers.reserve(devices.size());
  for (const RecordedDevice& device : devices) drivers.push_back(driver_of(device));
  return drivers;
}

std::shared_ptr<const Driver> holder_of(const std::string& form,
                                        const std::vector<std::shared_ptr<const Driver>>& accelerators) {
  if (host_driver().holds(form)) return {std::shared_ptr<const Driver>(), &host_driver()};
  for (const auto& driver : accelerators) {
    if (driver->holds(form)) return driver;
  }
  return nullptr;
}

nlohmann::ordered_json devices_json(const std::vector<RecordedDevice>& devices) {
  auto list = nlohmann::ordered_json::array();
  for (const RecordedDevice& device : devices)
    list.push_back({{"name", device.name},
                    {"instruction_sets", device.instruction_sets},
                    {"libraries", device.libraries},
                    {"options", device.options}});
  return list;
}

std::vector<RecordedDevice> parse_devices(const JsonValue* json) {
  std::vector<RecordedDevice> devices;
  if (json == nullptr) return devices;
  for (const JsonValue& item : json->items()) {
    auto& device = devices.emplace_back();
    device.name = item.at("name").string();
    device.instruction_sets = item.at("instruction_sets").string();
    device.libraries = item.at("libraries").string();
    for (const auto& [name, value] : item.at("options").members()) device.options[name] = value.string();
  }
  return devices;
}

}  // namespace vernier

// The accelerators of an engine, as its file names them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vernier/engine/engine.h"

namespace vernier {

class JsonValue;

struct RecordedDevice {
  std::string name, instruction_sets, libraries;  // see Driver
  std::map<std::string, std::string> options;

  std::string text() const;  // all but the name
};

// In the order of preference.
std::vector<RecordedDevice> record_devices(const BuildOptions& options);
// The drivers of this build for them. Throws unsupported where there is none of the name, or one that differs
// from what the engine was built for.
std::vector<std::shared_ptr<const Driver>> drivers_of(const std::vector<RecordedDevice>& devices);
// The driver, that of the host or one of these, by which a constant can be had from a packed form; null where
// the form does not hold all of it.
std::shared_ptr<const Driver> holder_of(const std::string& form,
                                        const std::vector<std::shared_ptr<const Driver>>& accelerators);

nlohmann::ordered_json devices_json(const std::vector<RecordedDevice>& devices);
// Null: there are none. Throws bad_input.
std::vector<RecordedDevice> parse_devices(const JsonValue* json);

}  // namespace vernier

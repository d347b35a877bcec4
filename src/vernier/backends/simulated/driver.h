// The simulated accelerator as a device of engines.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/backends/simulated/simulated_device.h"

namespace vernier::simulated {

inline constexpr const char* kName = "simulated";  // Driver::name

// Each engine gets a device of its own.
std::shared_ptr<const Driver> make_driver(const SimulatedOptions& options = {});

// "seed", "streams", "lacks" (operators, separated by commas), and "captures" ("no"), as Driver::options
// gives them; those that are missing are as SimulatedOptions has them. Throws usage_error for others, and for
// values that are none.
SimulatedOptions parse_options(const std::map<std::string, std::string>& options);

// These faults can be injected into its queues. Sessions free nothing while work is queued, so memory that is
// freed early is for tests of the device alone.
inline const std::set<DeviceFault::Kind> kDeviceFaults = {
    DeviceFault::Kind::kDropWait, DeviceFault::Kind::kDropCopy, DeviceFault::Kind::kStaleReplay,
    DeviceFault::Kind::kWrongTactic, DeviceFault::Kind::kLoseDevice};

}  // namespace vernier::simulated

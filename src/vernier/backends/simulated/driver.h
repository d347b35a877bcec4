// The simulated accelerator as a device of engines.
#pragma once

#include "vernier/backends/shared/driver.h"
#include "vernier/backends/simulated/simulated_device.h"

namespace vernier::simulated {

inline constexpr const char* kName = "simulated";  // Driver::name

// Each engine gets a device of its own.
std::shared_ptr<const Driver> make_driver(const SimulatedOptions& options = {});

// "number" is the seed of the order in which it works; options that are missing are as SimulatedOptions has
// them.
const AcceleratorKind& accelerator_kind();

}  // namespace vernier::simulated

// The backends that this build has.
#pragma once

#include "vernier/backends/shared/driver.h"

namespace vernier {

// Its kernels run what no other device does.
const Driver& host_driver();

// In the order of their names.
const std::vector<const AcceleratorKind*>& accelerator_kinds();
// Null: this build has none of the name.
const AcceleratorKind* find_accelerator_kind(std::string_view name);

// Makes the driver of an accelerator by its name, with these options (AcceleratorKind::make). Throws
// unsupported where this build has none of the name, and usage_error for options that it does not have.
std::shared_ptr<const Driver> accelerator_driver(const std::string& name,
                                                 const std::map<std::string, std::string>& options);

// By its name and its number: "cuda", which is "cuda:0", "cuda:1"; "simulated:3" is the one of the seed 3.
std::shared_ptr<const Driver> accelerator_driver(std::string_view device);

}  // namespace vernier

// A GPU as a device of engines.
#pragma once

#include "vernier/backends/cuda/libraries/search_path.h"
#include "vernier/backends/shared/driver.h"

namespace vernier::cuda {

inline constexpr const char* kName = "cuda";  // Driver::name

struct CudaOptions {
  int ordinal = 0;  // of the GPU, as the driver counts them
  SearchOptions search;
  std::set<std::string> lacks = {};  // operators that are left to the CPU: "Gather", "com.microsoft::Gelu"
};

// "device", "lacks" (operators, separated by commas) and "path", as Driver::options gives them; those that
// are missing are as CudaOptions has them. Throws usage_error for others, and for values that are none.
CudaOptions parse_options(const std::map<std::string, std::string>& options);

// Opens the libraries and the GPU; all that have the same options share them. Throws unsupported where one is
// missing.
std::shared_ptr<const Driver> make_driver(const CudaOptions& options = {});

}  // namespace vernier::cuda

// A GPU as a device of engines.
#pragma once

#include "vernier/backends/cuda/libraries/search_path.h"
#include "vernier/backends/shared/driver.h"
#include "vernier/backends/shared/faults/device_fault.h"

namespace vernier::cuda {

inline constexpr const char* kName = "cuda";                             // Driver::name
inline constexpr const char *kCublasLt = "cuBLASLt", *kCudnn = "cuDNN";  // in CudaOptions::lacks

// These faults can be injected into its streams.
inline const std::set<DeviceFault::Kind> kDeviceFaults = {
    DeviceFault::Kind::kDropWait, DeviceFault::Kind::kDropCopy, DeviceFault::Kind::kStaleReplay};

struct CudaOptions {
  int ordinal = 0;  // of the GPU, as the driver counts them
  SearchOptions search = {};
  // Operators that are left to the CPU: "Gather", "com.microsoft::Gelu"; and "cuBLASLt" and "cuDNN", whose
  // products and convolutions are left to kernels of our own.
  std::set<std::string> lacks = {};
  bool captures = true;  // Device::captures
  std::optional<DeviceFault> fault = {};
};

// "device", "lacks" (operators, separated by commas), "captures" ("no") and "path", as Driver::options gives
// them; those that are missing are as CudaOptions has them. Throws usage_error for others, and for values
// that are none.
CudaOptions parse_options(const std::map<std::string, std::string>& options);

// Opens the libraries and the GPU; all that have the same options share them. Throws unsupported where one is
// missing.
std::shared_ptr<const Driver> make_driver(const CudaOptions& options = {});

}  // namespace vernier::cuda

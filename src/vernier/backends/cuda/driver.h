// A GPU as a device of engines.
#pragma once

#include "vernier/backends/cuda/libraries/search_path.h"
#include "vernier/backends/shared/driver.h"
#include "vernier/backends/shared/faults/device_fault.h"

namespace vernier::cuda {

inline constexpr const char* kName = "cuda";                             // Driver::name
inline constexpr const char *kCublasLt = "cuBLASLt", *kCudnn = "cuDNN";  // in CudaOptions::lacks

struct CudaOptions {
  int ordinal = 0;  // of the GPU, as the driver counts them
  SearchOptions search = {};
  // Operators that are left to the CPU: "Gather", "com.microsoft::Gelu"; and "cuBLASLt" and "cuDNN", whose
  // products and convolutions are left to kernels of our own.
  std::set<std::string> lacks = {};
  bool captures = true;  // Device::captures
  std::optional<DeviceFault> fault = {};
};

// Opens the libraries and the GPU; all that have the same options share them. Throws unsupported where one is
// missing.
std::shared_ptr<const Driver> make_driver(const CudaOptions& options = {});

// "number" is that of the GPU; options that are missing are as CudaOptions has them.
const AcceleratorKind& accelerator_kind();

}  // namespace vernier::cuda

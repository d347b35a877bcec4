// A GPU in software: the fake driver, but programs run. Their texts are compiled for the host by the compiler
// of the system, with what only a GPU has put before them, so what a program means is seen where there is no
// GPU.
#pragma once

#include "cuda/fake_driver.h"
#include "vernier/backends/cuda/libraries/nvrtc_api.h"

namespace vernier::cuda {

// Whether there is a compiler.
bool has_host_compiler();

// Tables of a new GPU. Programs with barriers run by as many threads as they are launched with, others by
// one.
struct SoftwareGpu {
  DriverApi driver;
  NvrtcApi nvrtc;
};
SoftwareGpu reset_software_gpu();
// Compiles as its NVRTC does.
CompilerStatus compile_in_software(ProgramHandle program, int count, const char* const* options);

}  // namespace vernier::cuda

// The functions of NVRTC, the compiler of CUDA C++ that runs inside a program, as a table. See driver_api.h.
#pragma once

#include <cstddef>

#include "vernier/backends/cuda/libraries/driver_api.h"

namespace vernier::cuda {

using CompilerStatus = int;  // nvrtcResult
using ProgramHandle = struct OpaqueProgram*;

#define VERNIER_CUDA_NVRTC_FUNCTIONS(F)                                                                    \
  F(version, nvrtcVersion, CompilerStatus(int*, int*))                                                     \
  F(error_text, nvrtcGetErrorString, const char*(CompilerStatus))                                          \
  F(create, nvrtcCreateProgram,                                                                            \
    CompilerStatus(ProgramHandle*, const char*, const char*, int, const char* const*, const char* const*)) \
  F(destroy, nvrtcDestroyProgram, CompilerStatus(ProgramHandle*))                                          \
  F(compile, nvrtcCompileProgram, CompilerStatus(ProgramHandle, int, const char* const*))                  \
  F(log_size, nvrtcGetProgramLogSize, CompilerStatus(ProgramHandle, size_t*))                              \
  F(log, nvrtcGetProgramLog, CompilerStatus(ProgramHandle, char*))                                         \
  F(cubin_size, nvrtcGetCUBINSize, CompilerStatus(ProgramHandle, size_t*))                                 \
  F(cubin, nvrtcGetCUBIN, CompilerStatus(ProgramHandle, char*))

struct NvrtcApi {
#define VERNIER_CUDA_DECLARE(name, symbol, ...) Pointer<__VA_ARGS__> name = nullptr;
  VERNIER_CUDA_NVRTC_FUNCTIONS(VERNIER_CUDA_DECLARE)
#undef VERNIER_CUDA_DECLARE
};

}  // namespace vernier::cuda

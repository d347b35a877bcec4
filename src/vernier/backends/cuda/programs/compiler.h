// CUDA C++ to machine code, by NVRTC; no GPU is needed.
#pragma once

#include <string>

#include "vernier/backends/cuda/libraries/nvrtc_api.h"

namespace vernier::cuda {

class Compiler {
 public:
  // `api` outlives this; `architecture` is "sm_80", "sm_90a".
  Compiler(const NvrtcApi& api, std::string architecture)
      : api_(api), architecture_(std::move(architecture)) {}

  const std::string& architecture() const { return architecture_; }
  // The cubin: machine code of this architecture, the same bytes each time. Arithmetic is as written:
  // operations are not joined, denormals are kept, divisions and square roots are rounded correctly.
  // Thread-safe. Throws internal_error with what the compiler says.
  std::string compile(const std::string& source, const std::string& name) const;

 private:
  const NvrtcApi& api_;
  std::string architecture_;
};

}  // namespace vernier::cuda

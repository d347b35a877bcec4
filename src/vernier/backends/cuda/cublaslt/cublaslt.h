// cuBLASLt on one GPU.
#pragma once

#include "vernier/backends/cuda/device/context.h"
#include "vernier/backends/cuda/libraries/libraries.h"

namespace vernier::cuda {

// Opened and made ready when it is first asked for. Thread-safe. What is made of it stays until the process
// ends.
class CublasLt {
 public:
  // Both outlive this.
  CublasLt(const Context& context, const CublasLtLibrary& library) : context_(context), library_(library) {}
  CublasLt(const CublasLt&) = delete;
  CublasLt& operator=(const CublasLt&) = delete;

  // Null, with `reason`, where the library is missing, or does not serve this GPU.
  LtHandle handle(std::string& reason);
  // Usable where there is a handle.
  const CublasLtApi& api() const { return library_.api(); }
  const Context& context() const { return context_; }
  // Throws an internal error where a call went wrong.
  void check(LtStatus status, std::string_view what) const;

 private:
  const Context& context_;
  const CublasLtLibrary& library_;
  std::mutex mutex_;
  LtHandle handle_ = nullptr;
  std::string missing_;  // why there is no handle, if that is known
};

}  // namespace vernier::cuda

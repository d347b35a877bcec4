// Kernels for a GPU.
#pragma once

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/libraries/libraries.h"
#include "vernier/backends/shared/driver.h"

namespace vernier::cuda {

// A GPU of this process and what is compiled for it: shared by all engines, and kept until the process ends.
struct Gpu {
  // Throws unsupported where there is no such GPU.
  Gpu(const Libraries& libraries, int ordinal);

  Context context;
  Compiler compiler;
  ProgramStore programs;
  CublasLt cublaslt;
};

// Has kernels for plain tensors of known sizes; what it lacks the reason tells. Outlives what is made on its
// device.
class CudaBackend : public FaultableBackend {
 public:
  // `gpu` outlives this. Products are computed by cuBLASLt where it is there and serves, unless it is left
  // out.
  explicit CudaBackend(Gpu& gpu, bool uses_cublaslt = true);

  Device& device() const override { return *device_; }
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  void choose_layouts(KernelRequest& request) const override;
  // All its layouts are plain: throws an internal error.
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;
  // None so far.
  std::optional<FaultSpec> applied_fault() const override { return std::nullopt; }

 private:
  Gpu& gpu_;
  CublasLt* cublaslt_;  // null: left out
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace vernier::cuda

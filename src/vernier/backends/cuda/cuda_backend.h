// Kernels for a GPU.
#pragma once

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/cudnn/cudnn.h"
#include "vernier/backends/cuda/kernel_registry.h"
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
  Cudnn cudnn;
};

// Has kernels for tensors of known sizes; what it lacks the reason tells. A group that no kernel computes as
// one is computed by those of its nodes, in turn. Images between convolutions, and what is pointwise, lie
// channels last where that is faster. Outlives what is made on its device.
class CudaBackend : public FaultableBackend {
 public:
  // `gpu` outlives this. Products and convolutions are computed by the libraries that are given, those of the
  // GPU, where they are there and serve. `captures`: whether its device does.
  CudaBackend(Gpu& gpu, const KernelLibraries& libraries, bool captures = true);

  Device& device() const override { return *device_; }
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  void take(const Payloads& made) const override;
  // The ways in which the libraries compute products and convolutions.
  std::vector<std::string> tactics(const KernelRequest& request) const override;
  void choose_layouts(KernelRequest& request) const override;
  // Between plain images and those with channels last; throws an internal error for other layouts.
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;
  // None so far.
  std::optional<FaultSpec> applied_fault() const override { return std::nullopt; }

 private:
  Gpu& gpu_;
  const KernelLibraries libraries_;
  std::unique_ptr<CudaDevice> device_;
};

}  // namespace vernier::cuda

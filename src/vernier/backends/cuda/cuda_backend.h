// Kernels for a GPU.
#pragma once

#include "vernier/backends/cuda/cublaslt/cublaslt.h"
#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/cuda/cudnn/cudnn.h"
#include "vernier/backends/cuda/driver.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/libraries/libraries.h"
#include "vernier/backends/shared/faults/fault_injector.h"

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
  // `gpu` outlives this. Products and convolutions are computed by the libraries of the GPU, where the
  // options do not leave them out, they are there, and they serve.
  explicit CudaBackend(Gpu& gpu, const CudaOptions& options = {}, const std::optional<FaultSpec>& fault = {});

  Device& device() const override { return *device_; }
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override;
  void take(const Payloads& made) const override;
  // The ways in which the libraries compute products and convolutions.
  std::vector<std::string> tactics(const KernelRequest& request) const override;
  void choose_layouts(KernelRequest& request) const override;
  // Between plain images and those with channels last; throws an internal error for other layouts.
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override;
  // Also throws usage_error if its streams are to have a fault (DeviceFault) and have not come to it.
  std::optional<FaultSpec> applied_fault() const override;

 private:
  std::unique_ptr<Kernel> make_sound(const KernelRequest& request, std::string& reason) const;

  Gpu& gpu_;
  const std::set<std::string> lacks_;
  const KernelLibraries libraries_;
  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<FaultInjector> injector_;
};

}  // namespace vernier::cuda

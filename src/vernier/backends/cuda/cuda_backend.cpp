#include "vernier/backends/cuda/cuda_backend.h"

#include "vernier/backends/cuda/kernel_registry.h"

namespace vernier::cuda {

Gpu::Gpu(const Libraries& libraries, int ordinal)
    : context(libraries.driver, ordinal),
      compiler(libraries.nvrtc, context.facts().architecture()),
      programs(context, compiler),
      cublaslt(context, *libraries.cublaslt) {}

CudaBackend::CudaBackend(Gpu& gpu, bool uses_cublaslt)
    : gpu_(gpu),
      cublaslt_(uses_cublaslt ? &gpu.cublaslt : nullptr),
      device_(std::make_unique<CudaDevice>(gpu.context)) {}

std::unique_ptr<Kernel> CudaBackend::make(const KernelRequest& request, std::string& reason) const {
  auto kernel = make_cuda_kernel(request, reason, cublaslt_);
  if (kernel) kernel->install(*device_, gpu_.programs);
  return kernel;
}

void CudaBackend::choose_layouts(KernelRequest& request) const {
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
}

std::unique_ptr<Kernel> CudaBackend::reorder(const Operand& /*from*/, Layout to) const {
  throw internal_error("the CUDA backend has no {} layout", layout_name(to));
}

}  // namespace vernier::cuda

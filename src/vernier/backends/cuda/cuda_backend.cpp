#include "vernier/backends/cuda/cuda_backend.h"

#include "vernier/backends/cuda/cudnn/convolution.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/cuda/pointwise/layouts.h"
#include "vernier/backends/cuda/quantization/int8_contraction.h"
#include "vernier/exec/group_members.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

Gpu::Gpu(const Libraries& libraries, int ordinal)
    : context(libraries.driver, ordinal),
      compiler(libraries.nvrtc, context.facts().architecture()),
      programs(context, compiler),
      cublaslt(context, *libraries.cublaslt),
      cudnn(context, *libraries.cudnn) {}

CudaBackend::CudaBackend(Gpu& gpu, const KernelLibraries& libraries, bool captures)
    : gpu_(gpu), libraries_(libraries), device_(std::make_unique<CudaDevice>(gpu.context, captures)) {}

std::unique_ptr<Kernel> CudaBackend::make(const KernelRequest& request, std::string& reason) const {
  if (auto kernel = make_cuda_kernel(request, reason, libraries_)) {
    kernel->install(*device_, gpu_.programs);
    return kernel;
  }
  if (!ops::is_group(request.node)) return nullptr;
  return make_sequential(request, [&](const KernelRequest& member) { return make(member, reason); });
}

void CudaBackend::take(const Payloads& made) const {
  gpu_.programs.know(made);
  gpu_.cudnn.know(made);
}

std::vector<std::string> CudaBackend::tactics(const KernelRequest& request) const {
  return cuda_tactics(request, libraries_);
}

void CudaBackend::choose_layouts(KernelRequest& request) const {
  if (request.wants(0) && !request.open_sizes) {
    if (multiplies_int8(request.node)) return lay_out_int8(request);
    if (KernelRegistry::instance().follows_layouts(request.node)) return lay_out_pointwise(request);
    std::string reason;
    const bool is_convolution = libraries_.cudnn != nullptr && lay_out_convolution(request);
    if (is_convolution && libraries_.cudnn->serves(reason)) return;
  }
  for (auto* operands : {&request.inputs, &request.outputs}) {
    for (auto& operand : *operands) {
      if (operand) operand->layout = Layout::kPlain;
    }
  }
}

std::unique_ptr<Kernel> CudaBackend::reorder(const Operand& from, Layout to) const {
  auto kernel = make_reorder(from, to);
  kernel->install(*device_, gpu_.programs);
  return kernel;
}

}  // namespace vernier::cuda

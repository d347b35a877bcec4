#include "vernier/backends/cuda/cuda_backend.h"

#include "vernier/backends/cuda/contractions/faulty_sums.h"
#include "vernier/backends/cuda/cudnn/convolution.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/exec/group_members.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

Gpu::Gpu(const Libraries& libraries, int ordinal)
    : context(libraries.driver, ordinal),
      compiler(libraries.nvrtc, context.facts().architecture()),
      programs(context, compiler),
      cublaslt(context, *libraries.cublaslt),
      cudnn(context, *libraries.cudnn) {}

CudaBackend::CudaBackend(Gpu& gpu, const CudaOptions& options, const std::optional<FaultSpec>& fault)
    : gpu_(gpu),
      lacks_(options.lacks),
      libraries_{options.lacks.contains(kCublasLt) ? nullptr : &gpu.cublaslt,
                 options.lacks.contains(kCudnn) ? nullptr : &gpu.cudnn},
      device_(std::make_unique<CudaDevice>(gpu.context, options.captures, options.fault)) {
  if (!fault) return;
  const auto sound = [this](const KernelRequest& request, std::string& reason) {
    return make_sound(request, reason);
  };
  const auto sums = [this](Fault kind, const KernelRequest& request,
                           std::string& reason) -> std::unique_ptr<Kernel> {
    auto kernel = make_faulty_sums(kind, request, reason);
    if (kernel) kernel->install(*device_, gpu_.programs);
    return kernel;
  };
  injector_ = std::make_unique<FaultInjector>(*fault, *device_, sound, sums);
}

std::unique_ptr<Kernel> CudaBackend::make(const KernelRequest& request, std::string& reason) const {
  if (!injector_) return make_sound(request, reason);
  auto kernel = injector_->make(request, reason);
  if (kernel || !ops::is_group(request.node)) return kernel;
  return make_sequential(request, [&](const KernelRequest& member) { return make(member, reason); });
}

std::unique_ptr<Kernel> CudaBackend::make_sound(const KernelRequest& request, std::string& reason) const {
  if (lacks_.contains(request.node.op) || lacks_.contains(request.node.qualified_op())) {
    reason = fmt::format("--lacks leaves {} to the CPU", request.node.qualified_op());
    return nullptr;
  }
  if (auto kernel = make_cuda_kernel(request, reason, libraries_)) {
    kernel->install(*device_, gpu_.programs);
    return kernel;
  }
  if (!ops::is_group(request.node)) return nullptr;
  return make_sequential(request, [&](const KernelRequest& member) { return make_sound(member, reason); });
}

std::optional<FaultSpec> CudaBackend::applied_fault() const {
  device_->injected_faults().require();
  return injector_ ? std::optional(injector_->applied()) : std::nullopt;
}

void CudaBackend::take(const Payloads& made) const {
  gpu_.programs.know(made);
  gpu_.cudnn.know(made);
}

std::vector<std::string> CudaBackend::tactics(const KernelRequest& request) const {
  return cuda_tactics(request, libraries_);
}

void CudaBackend::choose_layouts(KernelRequest& request) const {
  const auto caches = caches_of(request);  // before anything makes the operands plain
  if (request.wants(0) && !request.open_sizes) {
    const LayOut lay_out = KernelRegistry::instance().lay_out(request.node);
    if (lay_out != lay_out_plain) return lay_out(request);
    std::string reason;
    const bool is_convolution = libraries_.cudnn != nullptr && lay_out_convolution(request);
    if (is_convolution && libraries_.cudnn->serves(reason)) return;
  }
  lay_out_plain(request);
  const LayOutCaches lay_out_caches = KernelRegistry::instance().lay_out_caches(request.node);
  if (!caches.empty() && lay_out_caches != nullptr) lay_out_caches(request, caches);
}

std::unique_ptr<Kernel> CudaBackend::reorder(const Operand& from, Layout to) const {
  auto kernel = make_reorder(from, to);
  kernel->install(*device_, gpu_.programs);
  return kernel;
}

}  // namespace vernier::cuda

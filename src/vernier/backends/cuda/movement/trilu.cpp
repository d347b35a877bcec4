// Trilu: the upper or lower triangle of matrices.
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/launch.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::cuda {

namespace {

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& /*reason*/) {
  using P = TriangleParameters;
  const Operand& x = request.in(0);
  P parameters{};
  parameters.count = x.size();
  parameters.rows = x.dims[x.dims.size() - 2];
  parameters.columns = x.dims.back();
  parameters.upper = static_cast<int>(ops::integer_attribute(request.node, "upper"));
  auto kernel = std::make_unique<CudaKernel>(request, "trilu");
  kernel->launch(kernel_source("trilu", {{"T", std::string(storage_type(element_size(x.element)))}}),
                 grid_over(parameters.count), parameters, {{&P::x, CudaKernel::input(0)}},
                 {{&P::y, CudaKernel::output()}});
  if (request.has(1)) kernel->add_pointer(offsetof(P, k), CudaKernel::input(1));
  return kernel;
}

}  // namespace

void register_trilu(KernelRegistry& registry) {
  registry.add("", "Trilu", make);
  registry.add("com.microsoft", "Trilu", make);
}

}  // namespace vernier::cuda

// Transpose.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/movement/copy_kernel.h"
#include "vernier/ops/support/movement/permutation.h"

namespace vernier::cpu {

namespace {

std::unique_ptr<Kernel> make_transpose(const KernelRequest& request, std::string& reason) {
  const Operand &x = request.in(0), &y = request.out();
  if (!is_movable(request) || x.layout == Layout::kBlocked16 || y.layout == Layout::kBlocked16) {
    reason = "strings and blocked tensors are not transposed";
    return nullptr;
  }
  auto kernel = std::make_unique<CopyKernel>("transpose");
  const auto perm = ops::permutation_of(request.node, x.dims.size());
  const auto from = byte_steps(x), to = byte_steps(y);
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < perm.size(); ++i) axes.push_back({y.dims[i], from[perm[i]], to[i]});
  kernel->add(0, 0, StridedCopy(element_size(x.element), std::move(axes), 0, 0));
  kernel->allow_in_place();
  return kernel;
}

}  // namespace

void register_transpose(KernelRegistry& registry) {
  registry.add({"", "Transpose", LayoutRule::kTranspose, Priority::kOwn, make_transpose});
}

}  // namespace vernier::cpu

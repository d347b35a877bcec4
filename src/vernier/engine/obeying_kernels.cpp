#include "vernier/engine/obeying_kernels.h"

#include "vernier/engine/audit.h"

namespace vernier {

std::unique_ptr<Kernel> ObeyingKernels::make(const KernelRequest& request, std::string& reason) const {
  auto kernel = backend_.make(request, reason);
  if (!kernel) return nullptr;
  // A plan names types, not sizes.
  const bool is_alike = request.like != nullptr && request.like->name == kernel->name &&
                        request.like->contract == kernel->contract;
  if (is_alike) return kernel;
  std::vector<ElementType> stored;
  for (const auto& output : request.outputs)
    stored.push_back(output ? output->element : ElementType::kUndefined);
  const std::string difference = kernel_difference(request.node, *kernel, stored, plan_, nodes_);
  if (difference.empty()) return kernel;
  reason = fmt::format("'{}' is not within the precision plan: {}", kernel->name, difference);
  return nullptr;
}

}  // namespace vernier

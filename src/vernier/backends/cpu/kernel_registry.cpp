#include "vernier/backends/cpu/kernel_registry.h"

#include "vernier/ops/group.h"

namespace vernier::cpu {

const KernelRegistry& KernelRegistry::instance() {
  static const KernelRegistry registry = [] {
    KernelRegistry made;
    register_all(made);
    return made;
  }();
  return registry;
}

void KernelRegistry::add(KernelMaker maker) {
  auto& makers = makers_[{maker.domain, maker.op}];
  const auto place =
      std::lower_bound(makers.begin(), makers.end(), maker.priority,
                       [](const KernelMaker& other, Priority priority) { return other.priority < priority; });
  if (place != makers.end() && place->priority == maker.priority)
    throw internal_error("two makers of kernels for '{}' of domain '{}' have priority {}", maker.op,
                         maker.domain, static_cast<int>(maker.priority));
  makers.insert(place, std::move(maker));
}

std::span<const KernelMaker> KernelRegistry::find(const Node& node) const {
  const std::string op = ops::is_group(node) ? "Group/" + ops::group_kind(node) : node.op;
  const auto found = makers_.find(std::pair(node.domain, op));
  return found == makers_.end() ? std::span<const KernelMaker>() : found->second;
}

}  // namespace vernier::cpu

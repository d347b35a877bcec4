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
  makers_[{maker.domain, maker.op}].push_back(std::move(maker));
}

std::span<const KernelMaker> KernelRegistry::find(const Node& node) const {
  const std::string op = ops::is_group(node) ? "Group/" + ops::group_kind(node) : node.op;
  const auto found = makers_.find(std::pair(node.domain, op));
  return found == makers_.end() ? std::span<const KernelMaker>() : found->second;
}

}  // namespace vernier::cpu

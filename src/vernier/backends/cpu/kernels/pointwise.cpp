// Every pointwise operator alone, and groups of them.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/pointwise/kernel.h"
#include "vernier/ops/op_def.h"

namespace vernier::cpu {

void register_pointwise(KernelRegistry& registry) {
  registry.add({"vernier", "Group/pointwise", LayoutRule::kFollow, make_pointwise});
  for (const ops::OpDef& def : ops::OpRegistry::instance().all()) {
    if ((def.traits & ops::kPointwise) != 0)
      registry.add({def.domain, def.op, LayoutRule::kFollow, make_pointwise});
  }
}

}  // namespace vernier::cpu

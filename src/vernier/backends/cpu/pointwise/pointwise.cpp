// Every pointwise operator alone, and groups of them.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/pointwise/kernel.h"
#include "vernier/backends/cpu/quantized/int8_table.h"
#include "vernier/ops/op_def.h"

namespace vernier::cpu {

namespace {

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) {
  if (auto table = make_int8_table(request, reason)) return table;
  return make_pointwise(request, reason);
}

}  // namespace

void register_pointwise(KernelRegistry& registry) {
  registry.add({"vernier", "Group/pointwise", LayoutRule::kFollow, Priority::kOwn, make});
  for (const ops::OpDef& def : ops::OpRegistry::instance().all()) {
    if ((def.traits & ops::kPointwise) != 0)
      registry.add({def.domain, def.op, LayoutRule::kFollow, Priority::kOwn, make});
  }
}

}  // namespace vernier::cpu

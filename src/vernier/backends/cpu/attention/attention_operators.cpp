// Attention of ai.onnx, and that which stands for a decomposed one.
#include "vernier/backends/cpu/attention/attention_places.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/ops/group.h"

namespace vernier::cpu {

void register_attention_operators(KernelRegistry& registry) {
  registry.add({"", "Attention", LayoutRule::kPlain, Priority::kOwn, make_planned<plan_attention>,
                planned_tactics<plan_attention>, false, lay_out_attention_caches});
  registry.add({ops::kInternalDomain, "Attention", LayoutRule::kPlain, Priority::kOwn,
                make_planned<plan_attention>, planned_tactics<plan_attention>, false,
                lay_out_attention_caches});
  registry.add({ops::kInternalDomain, "Group/attention", LayoutRule::kPlain, Priority::kOwn,
                make_planned<plan_packed_attention>, planned_tactics<plan_packed_attention>});
}

}  // namespace vernier::cpu

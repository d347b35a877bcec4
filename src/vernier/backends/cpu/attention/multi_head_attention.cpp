// MultiHeadAttention of com.microsoft.
#include "vernier/backends/cpu/attention/attention_places.h"
#include "vernier/backends/cpu/kernel_registry.h"

namespace vernier::cpu {

void register_multi_head_attention(KernelRegistry& registry) {
  registry.add({"com.microsoft", "MultiHeadAttention", LayoutRule::kPlain, Priority::kOwn,
                make_planned<plan_multi_head_attention>, planned_tactics<plan_multi_head_attention>, false,
                lay_out_attention_caches});
}

}  // namespace vernier::cpu

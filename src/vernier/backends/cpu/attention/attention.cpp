#include "vernier/backends/cpu/attention/attention.h"

#include "vernier/backends/cpu/attention/block_attention.h"

namespace vernier::cpu {

std::vector<std::string> attention_tactics(const AttentionPlan& plan) {
  return block_attention_tactics(plan);
}

std::unique_ptr<Kernel> make_attention(const AttentionPlan& plan, const KernelRequest& request,
                                       std::string& reason) {
  if (request.tactic.empty())
    return plan.q.rows <= kFewQueries ? make_direct_attention(plan) : make_panel_attention(plan);
  return make_block_attention(plan, request, reason);
}

}  // namespace vernier::cpu

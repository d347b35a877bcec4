#include "vernier/backends/cpu/attention/attention.h"

#include "vernier/backends/cpu/attention/block_attention.h"

namespace vernier::cpu {

HeadsPlace HeadsPlace::separate(int input, const Dims& dims, int64_t room) {
  const int64_t head = (room > 0 ? room : dims[2]) * dims[3];
  return {input, 0, dims[0], dims[1], dims[2], dims[3], dims[1] * head, head, dims[3]};
}

HeadsPlace HeadsPlace::packed(int input, const Dims& dims, int64_t heads) {
  const int64_t size = dims[2] / heads;
  return {input, 0, dims[0], heads, dims[1], size, dims[1] * dims[2], size, dims[2]};
}

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

// The kernels of attention operators by their plans, and rows of their operands as floats.
#pragma once

#include "vernier/backends/cpu/attention/attention.h"
#include "vernier/backends/shared/attention/attention_plans.h"

namespace vernier::cpu {

// Whether the kernel serves heads of these sizes.
bool serves_heads(const AttentionPlan& plan);

std::unique_ptr<Kernel> refuse(const KernelRequest& request, std::string& reason);

// An operator is registered with this, which serves it where `kPlanOf` gives a plan.
template <std::optional<AttentionPlan> (*kPlanOf)(const KernelRequest&)>
std::unique_ptr<Kernel> make_planned(const KernelRequest& request, std::string& reason) {
  const auto plan = kPlanOf(request);
  return plan && serves_heads(*plan) ? make_attention(*plan, request, reason) : refuse(request, reason);
}
template <std::optional<AttentionPlan> (*kPlanOf)(const KernelRequest&)>
std::vector<std::string> planned_tactics(const KernelRequest& request) {
  const auto plan = kPlanOf(request);
  return plan && serves_heads(*plan) ? attention_tactics(*plan) : std::vector<std::string>();
}

// The rows of heads as the operands give them: as floats, with what is added to them.
class HeadRows {
 public:
  explicit HeadRows(const AttentionPlan& plan) : plan_(plan) {}

  // Where it lies, or in `buffer`.
  const float* load(const KernelArguments& arguments, const HeadsPlace& place, int64_t entry, int64_t head,
                    int64_t row, float* buffer) const;
  // Writes the present keys and values of a head, where they are wanted.
  void keep(const KernelArguments& arguments, int64_t entry, int64_t head) const;

 private:
  void keep(const KernelArguments& arguments, const PresentPlace& present, const HeadsPlace& past,
            const HeadsPlace& added, int64_t entry, int64_t head) const;

  AttentionPlan plan_;
};

}  // namespace vernier::cpu

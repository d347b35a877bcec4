// Where the operands of attention operators lie.
#pragma once

#include "vernier/backends/cpu/attention/attention.h"

namespace vernier::cpu {

// An input [batch, heads, rows, size] or [batch, rows, heads * size]; no rows where it is left out, nothing
// where it cannot be divided.
std::optional<HeadsPlace> place_heads(const KernelRequest& request, size_t input, int64_t heads);

// Where the present goes; nowhere if it is not wanted.
PresentPlace place_present(const KernelRequest& request, size_t output);

// Lets the inputs lie in caches that are among `inputs`, each with the output that may lie behind it, -1 for
// none.
struct CacheInput {
  size_t input;
  int output;
};
void lay_out_heads(KernelRequest& request, std::span<const size_t> caches,
                   std::initializer_list<CacheInput> inputs);

// Where the result goes: as the queries lie.
HeadsPlace place_output(const KernelRequest& request, const AttentionPlan& plan);

// Whether queries, keys and values go together, and the kernel serves their sizes.
bool fits(const AttentionPlan& plan);

// Whether the past has the heads and sizes of what comes behind it.
bool past_fits(const AttentionPlan& plan);

// A mask that broadcasts to [batch, heads, rows, keys]; one that may be short ends where it ends. False for
// others.
bool place_mask(const KernelRequest& request, size_t input, bool may_be_short, AttentionPlan& plan);

bool of_one_type(const KernelRequest& request, std::initializer_list<size_t> inputs);  // that of input 0

std::unique_ptr<Kernel> refuse(const KernelRequest& request, std::string& reason);

// What an operator is registered with whose plan `kPlanOf` gives, if it is served.
template <std::optional<AttentionPlan> (*kPlanOf)(const KernelRequest&)>
std::unique_ptr<Kernel> make_planned(const KernelRequest& request, std::string& reason) {
  const auto plan = kPlanOf(request);
  return plan ? make_attention(*plan, request, reason) : refuse(request, reason);
}
template <std::optional<AttentionPlan> (*kPlanOf)(const KernelRequest&)>
std::vector<std::string> planned_tactics(const KernelRequest& request) {
  const auto plan = kPlanOf(request);
  return plan ? attention_tactics(*plan) : std::vector<std::string>();
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

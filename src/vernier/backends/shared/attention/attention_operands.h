// Where the operands of attention operators lie.
#pragma once

#include "vernier/backends/shared/attention/attention_plan.h"

namespace vernier {

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

// Whether queries, keys and values go together, and have elements.
bool heads_fit(const AttentionPlan& plan);

// Whether the past has the heads and sizes of what comes behind it.
bool past_fits(const AttentionPlan& plan);

// A mask that broadcasts to [batch, heads, rows, keys]; one that may be short ends where it ends. False for
// others.
bool place_mask(const KernelRequest& request, size_t input, bool may_be_short, AttentionPlan& plan);

// Whether kernels attend to elements of this type: float, float16 or bfloat16.
bool is_attended(ElementType type);
bool of_one_type(const KernelRequest& request, std::initializer_list<size_t> inputs);  // that of input 0

}  // namespace vernier

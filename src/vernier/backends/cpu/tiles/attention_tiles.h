// Attention on tiles of bfloat16. Floats are multiplied in pieces, and so are the weights of the values;
// those of values of bfloat16 are rounded to it.
#pragma once

#include "vernier/backends/cpu/kernels/attention.h"

namespace vernier::cpu {

std::vector<std::string> tile_attention_tactics(const AttentionPlan& plan);
// By the request's tactic; nothing, with `reason`, if it is another one.
std::unique_ptr<Kernel> make_tile_attention(const AttentionPlan& plan, const KernelRequest& request,
                                            std::string& reason);

}  // namespace vernier::cpu

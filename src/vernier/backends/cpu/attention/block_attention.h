// Attention whose products are blocks of bfloat16: on tiles, or in registers of vectors. Floats are
// multiplied in terms, on tiles, and so are the weights of their values; those of values of bfloat16 are
// rounded to it.
#pragma once

#include "vernier/backends/cpu/attention/attention.h"

namespace vernier::cpu {

// Attention of bfloat16, whose probabilities are rounded to bfloat16 to be multiplied, on tiles or in
// vectors. No plan asks for that, so it is approximate, where other products of bfloat16 by the same blocks
// are not.
inline constexpr const char* kBFloat16Probabilities = "bf16-probabilities";

std::vector<std::string> block_attention_tactics(const AttentionPlan& plan);
// By the request's tactic; nothing, with `reason`, if it is another one.
std::unique_ptr<Kernel> make_block_attention(const AttentionPlan& plan, const KernelRequest& request,
                                             std::string& reason);

}  // namespace vernier::cpu

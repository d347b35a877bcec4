// Attention operators as plans, at known sizes. Each is nothing where kernels do not serve the request.
#pragma once

#include "vernier/backends/shared/attention/attention_plan.h"

namespace vernier {

// Attention of ai.onnx, and that which stands for a decomposed one.
std::optional<AttentionPlan> plan_attention(const KernelRequest& request);
// Split and Attention in a group: the operands are columns of the group's rows.
std::optional<AttentionPlan> plan_packed_attention(const KernelRequest& request);
// MultiHeadAttention of com.microsoft.
std::optional<AttentionPlan> plan_multi_head_attention(const KernelRequest& request);

// Lets what these operators read of the inputs `caches` lie there, and their present behind the past. Does
// nothing for others.
void lay_out_attention_caches(KernelRequest& request, std::span<const size_t> caches);

}  // namespace vernier

// Attention without scores in memory: tiles of queries against blocks of keys, with running maximum and sum.
#pragma once

#include "vernier/backends/shared/attention/attention_plan.h"

namespace vernier::cpu {

inline constexpr int64_t kMaxHeadSize = 512;

// Heads of more than kMaxHeadSize elements are not served; the caller refuses them.
std::unique_ptr<Kernel> make_attention(const AttentionPlan& plan, const KernelRequest& request,
                                       std::string& reason);
std::vector<std::string> attention_tactics(const AttentionPlan& plan);

// With products of floats, on packed keys and values.
std::unique_ptr<Kernel> make_panel_attention(const AttentionPlan& plan);
// The same on keys and values as they lie, for so few queries that packing would take longer than they do.
std::unique_ptr<Kernel> make_direct_attention(const AttentionPlan& plan);
inline constexpr int64_t kFewQueries = 4;

}  // namespace vernier::cpu

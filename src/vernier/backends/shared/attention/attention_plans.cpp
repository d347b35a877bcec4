#include "vernier/backends/shared/attention/attention_plans.h"

#include "vernier/backends/shared/attention/attention_operands.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/contrib/operands.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/attention/attention.h"

namespace vernier {

namespace {

enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidKeys };
enum Output : size_t { kY, kPresentKey, kPresentValue, kScores };

}  // namespace

std::optional<AttentionPlan> plan_attention(const KernelRequest& request) {
  const Node& node = request.node;
  const auto kv_heads = ops::integer_attribute(node, "kv_num_heads");
  const auto q = place_heads(request, kQ, ops::integer_attribute(node, "q_num_heads")),
             k = place_heads(request, kK, kv_heads), v = place_heads(request, kV, kv_heads),
             past_k = place_heads(request, kPastKey, 0), past_v = place_heads(request, kPastValue, 0);
  if (!q || !k || !v || !past_k || !past_v || !is_attended(request.in(kQ).element) ||
      request.wants(kScores) || !of_one_type(request, {kK, kV, kPastKey, kPastValue}))
    return std::nullopt;
  AttentionPlan plan{
      .element = request.in(kQ).element, .q = *q, .k = *k, .v = *v, .past_k = *past_k, .past_v = *past_v};
  if (!heads_fit(plan) || !past_fits(plan)) return std::nullopt;
  plan.out = place_output(request, plan);
  plan.present_k = place_present(request, kPresentKey);
  plan.present_v = place_present(request, kPresentValue);
  plan.valid_keys = request.has(kValidKeys) ? static_cast<int>(kValidKeys) : -1;
  plan.causal = ops::integer_attribute(node, "is_causal") != 0;
  plan.left = ops::integer_attribute(node, "left_window_size");
  plan.right = ops::integer_attribute(node, "right_window_size");
  plan.scale = static_cast<float>(ops::attention_scale(node, q->size));
  plan.softcap = ops::real_attribute(node, "softcap");
  if (node.domain == ops::kInternalDomain)
    plan.without =
        ops::integer_attribute(node, "guarded") != 0 ? WithoutWeights::kZeros : WithoutWeights::kNan;
  if (!place_mask(request, kMask, node.version >= 24, plan)) return std::nullopt;
  return plan;
}

std::optional<AttentionPlan> plan_packed_attention(const KernelRequest& request) {
  const Graph& body = ops::body(request.node);
  const Node &split = *body.nodes().front(), &attention = *body.nodes().back();
  const auto place_of = [&](const Value* value) {
    return static_cast<int>(std::find(body.inputs.begin(), body.inputs.end(), value) - body.inputs.begin());
  };
  KernelRequest inner{attention, {}, request.outputs, request.packed};
  std::vector<int> places;  // of the attention's inputs among the group's
  for (const Value* input : attention.inputs) {
    const bool part = input != nullptr && input->producer() == &split;
    places.push_back(input == nullptr ? -1 : place_of(part ? split.input(0) : input));
    inner.inputs.push_back(
        input == nullptr ? std::nullopt
        : part           ? std::optional(Operand{request.in(static_cast<size_t>(places.back())).element,
                                       *to_dims(*input->type.tensor.shape), Layout::kPlain, nullptr})
                         : request.inputs[static_cast<size_t>(places.back())]);
  }
  auto plan = plan_attention(inner);
  if (!plan) return plan;
  const int64_t columns = request.in(static_cast<size_t>(places[kQ])).dims[2];
  const std::array<HeadsPlace*, 3> parts = {&plan->q, &plan->k, &plan->v};
  for (size_t i = 0; i < parts.size(); ++i) {
    int64_t offset = 0;
    for (const Value* part : split.outputs) {
      if (part == attention.input(i)) break;
      offset += to_dims(*part->type.tensor.shape)->back();
    }
    parts[i]->offset = offset;
    parts[i]->row_stride = columns;
    parts[i]->batch_stride = parts[i]->rows * columns;
  }
  for (int* input : {&plan->q.input, &plan->k.input, &plan->v.input, &plan->past_k.input, &plan->past_v.input,
                     &plan->mask.input, &plan->valid_keys}) {
    if (*input >= 0) *input = places[static_cast<size_t>(*input)];
  }
  return plan;
}

void lay_out_attention_caches(KernelRequest& request, std::span<const size_t> caches) {
  const std::string& op = request.node.op;
  if (op == "GroupQueryAttention") {
    return lay_out_heads(request, caches,
                         {{ops::group_query::kPastKey, ops::group_query::kPresentKey},
                          {ops::group_query::kPastValue, ops::group_query::kPresentValue}});
  }
  constexpr size_t kMultiHeadPast = 6;
  const bool is_multi_head = op == "MultiHeadAttention";
  if (!is_multi_head && (op != "Attention" || request.node.domain == "com.microsoft")) return;
  const size_t past = is_multi_head ? kMultiHeadPast : kPastKey;
  lay_out_heads(request, caches, {{kK, -1}, {kV, -1}, {past, kPresentKey}, {past + 1, kPresentValue}});
}

}  // namespace vernier

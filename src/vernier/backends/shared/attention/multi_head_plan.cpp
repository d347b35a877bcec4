// MultiHeadAttention of com.microsoft: separate or packed operands, a bias of the projections, padding, past
// and present.
#include "vernier/backends/shared/attention/attention_operands.h"
#include "vernier/backends/shared/attention/attention_plans.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/attention/attention.h"

namespace vernier {

namespace {

enum Input : size_t { kQ, kK, kV, kBiasOfInputs, kPadding, kBias, kPastKey, kPastValue, kPastLength };
enum Output : size_t { kOut, kPresentKey, kPresentValue, kScores };

// Member `index` of `count` that are packed in an input [batch, rows, heads, count, size].
std::optional<HeadsPlace> packed_member(const KernelRequest& request, size_t input, int64_t heads,
                                        int64_t index, int64_t count) {
  const Dims& dims = request.in(input).dims;
  if (dims[2] != heads || dims[3] != count) return std::nullopt;
  const int64_t size = dims[4], row = heads * count * size;
  return HeadsPlace{.input = static_cast<int>(input),
                    .offset = index * size,
                    .batch = dims[0],
                    .heads = heads,
                    .rows = dims[1],
                    .size = size,
                    .batch_stride = dims[1] * row,
                    .head_stride = count * size,
                    .row_stride = row};
}

// Queries, keys and values; false if they lie in a way that is not served.
bool place_operands(const KernelRequest& request, int64_t heads, AttentionPlan& plan) {
  std::optional<HeadsPlace> q, k, v;
  if (request.in(kQ).rank() == 5) {
    q = packed_member(request, kQ, heads, 0, 3);
    k = packed_member(request, kQ, heads, 1, 3);
    v = packed_member(request, kQ, heads, 2, 3);
  } else if (request.has(kK) && request.in(kK).rank() == 5) {
    q = place_heads(request, kQ, heads);
    k = packed_member(request, kK, heads, 0, 2);
    v = packed_member(request, kK, heads, 1, 2);
  } else if (request.has(kK) && request.has(kV)) {
    q = place_heads(request, kQ, heads);
    k = place_heads(request, kK, heads);
    v = place_heads(request, kV, heads);
  }
  if (!q || !k || !v || q->heads != heads || k->heads != heads || v->heads != heads) return false;
  plan.q = *q;
  plan.k = *k;
  plan.v = *v;
  return true;
}

// Places the bias of the projections; keys and values of rank 4 were projected before.
bool place_bias_of_inputs(const KernelRequest& request, AttentionPlan& plan) {
  if (!request.has(kBiasOfInputs)) return true;
  int64_t offset = 0;
  const bool projected = request.has(kK) && request.in(kK).rank() == 4;
  for (HeadsPlace* part : {&plan.q, &plan.k, &plan.v}) {
    if (part == &plan.q || !projected) {
      part->bias = static_cast<int>(kBiasOfInputs);
      part->bias_offset = offset;
    }
    offset += part->heads * part->size;
  }
  return request.in(kBiasOfInputs).size() == offset;
}

bool place_padding(const KernelRequest& request, AttentionPlan& plan) {
  if (!request.has(kPadding)) return true;
  using Form = PaddingPlace::Form;
  const Operand& mask = request.in(kPadding);
  const int64_t batch = plan.q.batch;
  plan.padding.input = static_cast<int>(kPadding);
  plan.padding.filter = ops::real_attribute(request.node, "mask_filter_value");
  if (mask.dims == Dims{batch})
    plan.padding.form = Form::kEnds;
  else if (mask.dims == Dims{2 * batch})
    plan.padding.form = Form::kEndsAndStarts;
  else if (mask.dims == Dims{batch, plan.keys()})
    plan.padding.form = Form::kKeys;
  else if (mask.dims == Dims{batch, plan.q.rows, plan.keys()})
    plan.padding.form = Form::kQueriesAndKeys;
  else
    return false;
  return mask.element == ElementType::kInt32;
}

}  // namespace

std::optional<AttentionPlan> plan_multi_head_attention(const KernelRequest& request) {
  const Node& node = request.node;
  bool serves = is_attended(request.in(kQ).element) && !request.wants(kScores) &&
                of_one_type(request, {kK, kV, kBiasOfInputs, kPastKey, kPastValue});
  for (size_t i = kPastLength; i < request.inputs.size(); ++i) serves = serves && !request.has(i);
  AttentionPlan plan{.element = request.in(kQ).element};
  const auto past_k = place_heads(request, kPastKey, 0), past_v = place_heads(request, kPastValue, 0);
  if (!serves || !past_k || !past_v ||
      !place_operands(request, ops::integer_attribute(node, "num_heads"), plan))
    return std::nullopt;
  plan.past_k = *past_k;
  plan.past_v = *past_v;
  if (!heads_fit(plan) || !past_fits(plan) || !place_bias_of_inputs(request, plan) ||
      !place_padding(request, plan) || !place_mask(request, kBias, false, plan))
    return std::nullopt;
  plan.out = HeadsPlace::packed(-1, {plan.q.batch, plan.q.rows, plan.q.heads * plan.v.size}, plan.q.heads);
  plan.present_k = place_present(request, kPresentKey);
  plan.present_v = place_present(request, kPresentValue);
  plan.causal = ops::integer_attribute(node, "unidirectional") != 0;
  plan.scale = static_cast<float>(ops::attention_scale(node, plan.q.size));
  return plan;
}

}  // namespace vernier

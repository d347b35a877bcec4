#include "vernier/backends/shared/attention/group_query_plan.h"

#include "vernier/backends/shared/attention/attention_operands.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/attention/attention.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier {

namespace {

using namespace group_query;

// Queries, keys and values, which may be packed in one input.
bool place_operands(const KernelRequest& request, int64_t heads, int64_t shared, CachePlan& plan) {
  if (heads < 1 || shared < 1 || request.in(kQuery).rank() != 3) return false;
  if (!request.has(kKey)) {
    const auto all = place_heads(request, kQuery, heads + 2 * shared);
    if (!all) return false;
    plan.q = plan.k = plan.v = *all;
    plan.q.heads = heads;
    plan.k.heads = plan.v.heads = shared;
    plan.k.offset = heads * all->size;
    plan.v.offset = (heads + shared) * all->size;
    return true;
  }
  const auto q = place_heads(request, kQuery, heads), k = place_heads(request, kKey, shared),
             v = place_heads(request, kValue, shared);
  if (!q || !k || !v) return false;
  plan.q = *q;
  plan.k = *k;
  plan.v = *v;
  return plan.k.rows == plan.q.rows && plan.v.rows == plan.q.rows && plan.v.size == plan.q.size;
}

bool place_cache(const KernelRequest& request, CachePlan& plan) {
  if (request.has(kPastKey) != request.has(kPastValue)) return false;
  if (request.has(kPastKey)) {
    const Dims& past = request.in(kPastKey).dims;
    if (past.size() != 4 || past != request.in(kPastValue).dims || past[0] != plan.k.batch ||
        past[1] != plan.k.heads || past[3] != plan.k.size)
      return false;
    plan.old_rows = past[2];
    plan.key_room.past = request.in(kPastKey).memory_dims()[2];
    plan.value_room.past = request.in(kPastValue).memory_dims()[2];
  }
  const Operand& total = request.in(kTotal);
  if (total.constant == nullptr || total.size() != 1 || request.in(kLastKeys).size() != plan.q.batch)
    return false;
  plan.longest = total.constant->to_ints()[0];
  plan.keys = std::max(plan.old_rows, plan.longest);
  plan.key_room.present = request.wants(kPresentKey) ? request.out(kPresentKey).memory_dims()[2] : plan.keys;
  plan.value_room.present =
      request.wants(kPresentValue) ? request.out(kPresentValue).memory_dims()[2] : plan.keys;
  return plan.longest > 0 && plan.longest <= plan.old_rows + plan.q.rows;
}

bool place_rotation(const KernelRequest& request, CachePlan& plan) {
  if (ops::integer_attribute(request.node, "do_rotary") == 0) return true;
  if (!request.has(kCosines) || !request.has(kSines)) return false;
  const Operand& cosines = request.in(kCosines);
  if (cosines.rank() != 2 || cosines.dims != request.in(kSines).dims) return false;
  plan.half = cosines.dims[1];
  plan.angles = cosines.dims[0];
  plan.interleaved = ops::integer_attribute(request.node, "rotary_interleaved") != 0;
  if (request.has(kPositions) && (request.in(kPositions).size() != plan.q.batch * plan.q.rows ||
                                  request.in(kPositions).element != ElementType::kInt64))
    return false;
  return plan.half > 0 && 2 * plan.half <= plan.q.size;
}

bool place_bias(const KernelRequest& request, const CachePlan& cache, AttentionPlan& plan) {
  if (!request.has(kScoreBias)) return true;
  const Dims& dims = request.in(kScoreBias).dims;
  if (dims.size() != 4 || dims[3] < cache.longest) return false;
  const Dims scores{plan.q.batch, plan.q.heads, plan.q.rows, dims[3]};
  for (size_t i = 0; i < 3; ++i) {
    if (dims[i] != 1 && dims[i] != scores[i]) return false;
  }
  plan.mask = {kInnerBias, request.in(kScoreBias).element, dims[3], {}};
  const auto strides = ops::broadcast_strides(dims, scores);
  std::copy(strides.begin(), strides.end(), plan.mask.strides.begin());
  return true;
}

bool serves(const KernelRequest& request) {
  const Node& node = request.node;
  bool result = !request.wants(kScores) && ops::integer_attribute(node, "sliding_window_cache") == 0 &&
                request.in(kLastKeys).element == ElementType::kInt32 &&
                is_attended(request.in(kQuery).element);
  for (const char* type : {"k_quant_type", "v_quant_type"})
    result = result && ops::text_attribute(node, type) == "NONE";
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (!request.has(i)) continue;
    const bool integers = i == kLastKeys || i == kTotal || i == kPositions;
    result =
        result && i < kFirstUnserved && (integers || request.in(i).element == request.in(kQuery).element);
  }
  return result;
}

}  // namespace

std::optional<GroupQueryPlans> plan_group_query(const KernelRequest& request) {
  const Node& node = request.node;
  CachePlan cache;
  if (!serves(request) ||
      !place_operands(request, ops::integer_attribute(node, "num_heads"),
                      ops::integer_attribute(node, "kv_num_heads"), cache) ||
      !place_cache(request, cache) || !place_rotation(request, cache))
    return std::nullopt;
  const Dims present{cache.k.batch, cache.k.heads, cache.keys, cache.k.size};
  AttentionPlan plan{.element = request.in(kQuery).element,
                     .q = cache.q,
                     .k = HeadsPlace::separate(kInnerKey, present, cache.key_room.present),
                     .v = HeadsPlace::separate(kInnerValue, present, cache.value_room.present)};
  if (cache.half > 0)
    plan.q = HeadsPlace::separate(kInnerQuery, {plan.q.batch, plan.q.heads, plan.q.rows, plan.q.size});
  plan.q.input = kInnerQuery;
  plan.out = HeadsPlace::packed(-1, {plan.q.batch, plan.q.rows, plan.q.heads * plan.q.size}, plan.q.heads);
  plan.valid_keys = kInnerValid;
  plan.positions = kInnerPositions;
  cache.smooth = !request.has(kSink) && ops::integer_attribute(node, "smooth_softmax") != 0;
  if (cache.smooth || request.has(kSink)) plan.sinks = kInnerSinks;
  plan.causal = ops::integer_attribute(node, "causal") != 0;
  const auto window = ops::integer_attribute(node, "local_window_size");
  if (plan.causal && window > 0) plan.left = window - 1;
  plan.scale = static_cast<float>(ops::attention_scale(node, plan.q.size));
  plan.softcap = ops::real_attribute(node, "softcap");
  if (!heads_fit(plan) || !place_bias(request, cache, plan) ||
      (request.has(kSink) && request.in(kSink).size() != plan.q.heads))
    return std::nullopt;
  return GroupQueryPlans{cache, plan};
}

}  // namespace vernier

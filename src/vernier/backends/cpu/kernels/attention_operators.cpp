// The operators that are attention: Attention of ai.onnx, MultiHeadAttention of com.microsoft.
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/kernels/attention.h"
#include "vernier/backends/cpu/kernels/float_storage.h"
#include "vernier/ops/group.h"
#include "vernier/ops/support/strides.h"

namespace vernier::cpu {

namespace {

std::optional<HeadsPlace> place_heads(const KernelRequest& request, size_t input, int64_t heads) {
  if (!request.has(input)) return HeadsPlace{};
  const Dims& dims = request.in(input).dims;
  if (dims.size() == 4) return HeadsPlace::separate(static_cast<int>(input), dims);
  if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0) return std::nullopt;
  return HeadsPlace::packed(static_cast<int>(input), dims, heads);
}

// Where the result goes: as the queries lie.
HeadsPlace place_output(const KernelRequest& request, const AttentionPlan& plan) {
  const HeadsPlace& q = plan.q;
  if (request.out().rank() == 4) return HeadsPlace::separate(-1, {q.batch, q.heads, q.rows, plan.v.size});
  return HeadsPlace::packed(-1, {q.batch, q.rows, q.heads * plan.v.size}, q.heads);
}

bool fits(const AttentionPlan& plan) {
  const HeadsPlace &q = plan.q, &k = plan.k, &v = plan.v;
  return q.batch == k.batch && q.batch == v.batch && q.size == k.size && k.rows == v.rows &&
         k.heads == v.heads && k.heads > 0 && q.heads % k.heads == 0 && q.size <= kMaxHeadSize &&
         v.size <= kMaxHeadSize - 16 && q.batch * q.heads * q.rows * q.size * plan.keys() * v.size > 0;
}

// A mask that broadcasts to [batch, heads, rows, keys]; one that may be short ends where it ends.
bool place_mask(const KernelRequest& request, size_t input, bool may_be_short, AttentionPlan& plan) {
  if (!request.has(input)) return true;
  const Operand& mask = request.in(input);
  Dims target{plan.q.batch, plan.q.heads, plan.q.rows, plan.keys()};
  if (may_be_short && !mask.dims.empty() && mask.dims.back() < plan.keys()) target[3] = mask.dims.back();
  if (mask.rank() > 4 || (!is_float_storage(mask.element) && mask.element != ElementType::kBool))
    return false;
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    const int64_t size = mask.dims[mask.dims.size() - 1 - i];
    if (size != 1 && size != target[3 - i]) return false;
  }
  const auto strides = ops::broadcast_strides(mask.dims, target);
  plan.mask = {static_cast<int>(input), mask.element, target[3], {}};
  std::copy(strides.begin(), strides.end(), plan.mask.strides.begin());
  return true;
}

bool of_one_type(const KernelRequest& request, std::initializer_list<size_t> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](size_t input) {
    return !request.has(input) || request.in(input).element == request.in(0).element;
  });
}

std::unique_ptr<Kernel> refuse(const KernelRequest& request, std::string& reason) {
  reason = fmt::format("no {} of such inputs", request.node.op);
  return nullptr;
}

std::unique_ptr<Kernel> make_onnx(const KernelRequest& request, std::string& reason) {
  enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kValidKeys };
  const Node& node = request.node;
  const auto kv_heads = node.attribute<int64_t>("kv_num_heads", 0);
  const auto q = place_heads(request, kQ, node.attribute<int64_t>("q_num_heads", 0)),
             k = place_heads(request, kK, kv_heads), v = place_heads(request, kV, kv_heads),
             past_k = place_heads(request, kPastKey, 0), past_v = place_heads(request, kPastValue, 0);
  if (!q || !k || !v || !past_k || !past_v || !is_float_storage(request.in(kQ).element) || request.wants(3) ||
      !of_one_type(request, {kK, kV, kPastKey, kPastValue}))
    return refuse(request, reason);
  AttentionPlan plan{
      .element = request.in(kQ).element, .q = *q, .k = *k, .v = *v, .past_k = *past_k, .past_v = *past_v};
  if (!fits(plan) || past_k->rows != past_v->rows) return refuse(request, reason);
  if (past_k->rows > 0 && (past_k->heads != k->heads || past_k->size != k->size ||
                           past_k->batch != k->batch || past_v->size != v->size))
    return refuse(request, reason);
  plan.out = place_output(request, plan);
  plan.present_k = request.wants(1) ? 1 : -1;
  plan.present_v = request.wants(2) ? 2 : -1;
  plan.valid_keys = request.has(kValidKeys) ? static_cast<int>(kValidKeys) : -1;
  plan.causal = node.attribute<int64_t>("is_causal", 0) != 0;
  plan.left = node.attribute<int64_t>("left_window_size", -1);
  plan.right = node.attribute<int64_t>("right_window_size", -1);
  plan.scale =
      node.attribute<float>("scale", static_cast<float>(1 / std::sqrt(static_cast<double>(q->size))));
  plan.softcap = node.attribute<float>("softcap", 0);
  if (node.domain == ops::kInternalDomain)
    plan.without = node.attribute<int64_t>("guarded", 0) != 0 ? WithoutWeights::kZeros : WithoutWeights::kNan;
  if (!place_mask(request, kMask, node.version >= 24, plan)) return refuse(request, reason);
  return make_attention(plan);
}

// Of three packed inputs, with a bias of the scores at most.
std::unique_ptr<Kernel> make_multi_head(const KernelRequest& request, std::string& reason) {
  enum Input : size_t { kQ, kK, kV, kBiasOfInputs, kPadding, kBias };
  const Node& node = request.node;
  const auto heads = node.attribute<int64_t>("num_heads", 0);
  bool serves = request.has(kK) && request.has(kV) && !request.has(kBiasOfInputs) && !request.has(kPadding) &&
                is_float_storage(request.in(kQ).element) && of_one_type(request, {kK, kV});
  for (size_t i = kBias + 1; i < request.inputs.size(); ++i) serves = serves && !request.has(i);
  for (size_t i = 1; i < request.outputs.size(); ++i) serves = serves && !request.wants(i);
  for (const size_t input : {kQ, kK, kV}) serves = serves && request.in(input).rank() == 3;
  if (!serves) return refuse(request, reason);
  const auto q = place_heads(request, kQ, heads), k = place_heads(request, kK, heads),
             v = place_heads(request, kV, heads);
  if (!q || !k || !v) return refuse(request, reason);
  AttentionPlan plan{.element = request.in(kQ).element, .q = *q, .k = *k, .v = *v};
  if (!fits(plan) || !place_mask(request, kBias, false, plan)) return refuse(request, reason);
  plan.out = place_output(request, plan);
  plan.causal = node.attribute<int64_t>("unidirectional", 0) != 0;
  plan.scale = node.find_attribute("scale") != nullptr
                   ? node.attribute<float>("scale", 0)
                   : static_cast<float>(1 / std::sqrt(static_cast<double>(q->size)));
  return make_attention(plan);
}

}  // namespace

void register_attention_operators(KernelRegistry& registry) {
  registry.add({"", "Attention", LayoutRule::kPlain, make_onnx});
  registry.add({ops::kInternalDomain, "Attention", LayoutRule::kPlain, make_onnx});
  registry.add({"com.microsoft", "MultiHeadAttention", LayoutRule::kPlain, make_multi_head});
}

}  // namespace vernier::cpu

#include "vernier/backends/shared/attention/attention_operands.h"

#include "vernier/ops/support/movement/strides.h"

namespace vernier {

HeadsPlace HeadsPlace::separate(int input, const Dims& dims, int64_t room) {
  const int64_t head = (room > 0 ? room : dims[2]) * dims[3];
  return {input, 0, dims[0], dims[1], dims[2], dims[3], dims[1] * head, head, dims[3]};
}

HeadsPlace HeadsPlace::packed(int input, const Dims& dims, int64_t heads) {
  const int64_t size = dims[2] / heads;
  return {input, 0, dims[0], heads, dims[1], size, dims[1] * dims[2], size, dims[2]};
}

std::optional<HeadsPlace> place_heads(const KernelRequest& request, size_t input, int64_t heads) {
  if (!request.has(input)) return HeadsPlace{};
  const Dims& dims = request.in(input).dims;
  if (dims.size() == 4) {
    const bool is_cache = request.in(input).layout == Layout::kCache;
    return HeadsPlace::separate(static_cast<int>(input), dims, is_cache ? request.in(input).capacity : 0);
  }
  if (dims.size() != 3 || heads < 1 || dims[2] % heads != 0) return std::nullopt;
  return HeadsPlace::packed(static_cast<int>(input), dims, heads);
}

PresentPlace place_present(const KernelRequest& request, size_t output) {
  if (!request.wants(output)) return {};
  return {static_cast<int>(output), request.out(output).memory_dims()[2]};
}

void lay_out_heads(KernelRequest& request, std::span<const size_t> caches,
                   std::initializer_list<CacheInput> inputs) {
  constexpr int64_t kRank = 4;
  for (const CacheInput& each : inputs) {
    if (std::find(caches.begin(), caches.end(), each.input) == caches.end()) continue;
    if (request.in(each.input).rank() != kRank) continue;
    request.inputs[each.input]->layout = Layout::kCache;
    if (each.output < 0 || !request.wants(static_cast<size_t>(each.output))) continue;
    Operand& present = *request.outputs[static_cast<size_t>(each.output)];
    if (present.capacity > 0) present.layout = Layout::kCache;
  }
}

HeadsPlace place_output(const KernelRequest& request, const AttentionPlan& plan) {
  const HeadsPlace& q = plan.q;
  if (request.out().rank() == 4) return HeadsPlace::separate(-1, {q.batch, q.heads, q.rows, plan.v.size});
  return HeadsPlace::packed(-1, {q.batch, q.rows, q.heads * plan.v.size}, q.heads);
}

bool heads_fit(const AttentionPlan& plan) {
  const HeadsPlace &q = plan.q, &k = plan.k, &v = plan.v;
  return q.batch == k.batch && q.batch == v.batch && q.size == k.size && k.rows == v.rows &&
         k.heads == v.heads && k.heads > 0 && q.heads % k.heads == 0 &&
         q.batch * q.heads * q.rows * q.size * plan.keys() * v.size > 0;
}

bool past_fits(const AttentionPlan& plan) {
  const HeadsPlace &k = plan.past_k, &v = plan.past_v;
  if (k.rows != v.rows) return false;
  return k.rows == 0 || (k.heads == plan.k.heads && k.size == plan.k.size && k.batch == plan.k.batch &&
                         v.size == plan.v.size);
}

bool place_mask(const KernelRequest& request, size_t input, bool may_be_short, AttentionPlan& plan) {
  if (!request.has(input)) return true;
  const Operand& mask = request.in(input);
  Dims target{plan.q.batch, plan.q.heads, plan.q.rows, plan.keys()};
  if (may_be_short && !mask.dims.empty() && mask.dims.back() < plan.keys()) target[3] = mask.dims.back();
  if (mask.rank() > 4 || (!is_attended(mask.element) && mask.element != ElementType::kBool)) return false;
  for (size_t i = 0; i < mask.dims.size(); ++i) {
    const int64_t size = mask.dims[mask.dims.size() - 1 - i];
    if (size != 1 && size != target[3 - i]) return false;
  }
  const auto strides = ops::broadcast_strides(mask.dims, target);
  plan.mask = {static_cast<int>(input), mask.element, target[3], {}};
  std::copy(strides.begin(), strides.end(), plan.mask.strides.begin());
  return true;
}

bool is_attended(ElementType type) {
  return type == ElementType::kFloat || type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

bool of_one_type(const KernelRequest& request, std::initializer_list<size_t> inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](size_t input) {
    return !request.has(input) || request.in(input).element == request.in(0).element;
  });
}

}  // namespace vernier

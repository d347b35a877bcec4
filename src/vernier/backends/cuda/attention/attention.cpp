// Attention of ai.onnx and MultiHeadAttention of com.microsoft, with a past or without, and that which stands
// for a decomposed one.
#include "vernier/backends/cuda/attention/attention_launches.h"
#include "vernier/backends/cuda/attention/head_rows.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/shared/attention/attention_plans.h"
#include "vernier/backends/shared/caches.h"
#include "vernier/ops/group.h"

namespace vernier::cuda {

namespace {

std::optional<Place> input(int index) {
  return index < 0 ? std::nullopt : std::optional(CudaKernel::input(static_cast<size_t>(index)));
}

Place place_of(const HeadsPlace& heads, ElementType type) {
  return CudaKernel::input(static_cast<size_t>(heads.input),
                           static_cast<size_t>(heads.offset) * element_size(type));
}

std::optional<Place> bias_of(const HeadsPlace& heads, ElementType type) {
  if (heads.bias < 0) return std::nullopt;
  return CudaKernel::input(static_cast<size_t>(heads.bias),
                           static_cast<size_t>(heads.bias_offset) * element_size(type));
}

class Maker {
 public:
  Maker(const KernelRequest& request, const AttentionPlan& plan)
      : request_(request),
        kernel_(std::make_unique<CudaKernel>(request, "attention")),
        plan_(plan),
        is_biased_(plan.q.bias >= 0 || plan.k.bias >= 0) {}

  std::unique_ptr<CudaKernel> make() {
    AttentionPlaces places{.q = queries(),
                           .k = keys(plan_.past_k, plan_.present_k, plan_.k),
                           .v = keys(plan_.past_v, plan_.present_v, plan_.v),
                           .mask = input(plan_.mask.input),
                           .padding = input(plan_.padding.input),
                           .counts = input(plan_.valid_keys)};
    if (places.counts) places.form = AttentionPlaces::Counts::kNumbers;
    if (!add_attention(*kernel_, plan_, places, plan_.past_k.rows)) return nullptr;
    // Their biased values are rounded as they are stored.
    if (is_biased_ && plan_.element != ElementType::kFloat) kernel_->contract.operands = plan_.element;
    return std::move(kernel_);
  }

 private:
  Place queries() {
    HeadsPlace& q = plan_.q;
    const Place from = place_of(q, plan_.element);
    if (q.bias < 0) return from;
    const HeadsPlace to = HeadsPlace::separate(-1, {q.batch, q.heads, q.rows, q.size});
    const Place y = kernel_->more_scratch(q.batch * to.batch_stride, plan_.element);
    add_head_rows(*kernel_, {.element = plan_.element,
                             .from = q,
                             .to = to,
                             .x = from,
                             .y = y,
                             .bias = bias_of(q, plan_.element)});
    q = to;
    return y;
  }

  // Where keys or values of all rows lie; sets how. They are put behind the past where there is one, or where
  // the present is wanted.
  Place keys(const HeadsPlace& past, const PresentPlace& present, HeadsPlace& added) {
    const Place from = place_of(added, plan_.element);
    const bool is_wanted = present.output >= 0;
    if (past.rows == 0 && !is_wanted && added.bias < 0) return from;
    const HeadsPlace to = HeadsPlace::separate(
        -1, {added.batch, added.heads, past.rows + added.rows, added.size}, is_wanted ? present.room : 0);
    HeadRows rows{.element = plan_.element,
                  .from = added,
                  .to = to,
                  .x = from,
                  .y = is_wanted ? CudaKernel::output(static_cast<size_t>(present.output))
                                 : kernel_->more_scratch(added.batch * to.batch_stride, plan_.element),
                  .bias = bias_of(added, plan_.element),
                  .appends = true,
                  .old_rows = past.rows};
    const bool is_there =
        is_wanted && past.rows > 0 &&
        lies_behind(request_, static_cast<size_t>(present.output), static_cast<size_t>(past.input));
    if (past.rows > 0 && !is_there) {
      rows.past = input(past.input);
      rows.past_room = past.head_stride / past.size;
    }
    add_head_rows(*kernel_, rows);
    added = to;
    return rows.y;
  }

  const KernelRequest& request_;
  std::unique_ptr<CudaKernel> kernel_;
  AttentionPlan plan_;
  bool is_biased_;
};

template <std::optional<AttentionPlan> (*kPlanOf)(const KernelRequest&)>
std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const auto plan = kPlanOf(request);
  auto kernel = plan ? Maker(request, *plan).make() : nullptr;
  if (!kernel) reason = fmt::format("no {} of such inputs", request.node.op);
  return kernel;
}

}  // namespace

void register_attention(KernelRegistry& registry) {
  registry.add("", "Attention", make<plan_attention>, lay_out_plain, lay_out_attention_caches);
  registry.add(ops::kInternalDomain, "Attention", make<plan_attention>, lay_out_plain,
               lay_out_attention_caches);
  registry.add(ops::kInternalDomain, "Group/attention", make<plan_packed_attention>);
  registry.add("com.microsoft", "MultiHeadAttention", make<plan_multi_head_attention>, lay_out_plain,
               lay_out_attention_caches);
}

}  // namespace vernier::cuda

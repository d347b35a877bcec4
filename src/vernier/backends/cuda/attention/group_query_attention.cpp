// GroupQueryAttention of com.microsoft: new rows go into the cache, each batch entry behind its own old ones,
// and attention reads the cache.
#include "vernier/backends/cuda/attention/attention_launches.h"
#include "vernier/backends/cuda/attention/head_rows.h"
#include "vernier/backends/cuda/kernel_registry.h"
#include "vernier/backends/shared/attention/attention_plans.h"
#include "vernier/backends/shared/attention/group_query_plan.h"
#include "vernier/backends/shared/caches.h"

namespace vernier::cuda {

namespace {

using namespace group_query;

class Maker {
 public:
  Maker(const KernelRequest& request, const GroupQueryPlans& plans)
      : request_(request),
        cache_(plans.cache),
        plan_(plans.attention),
        kernel_(std::make_unique<CudaKernel>(request, "group-query-attention")) {}

  std::unique_ptr<CudaKernel> make() {
    AttentionPlaces places{.q = queries(),
                           .k = cached(cache_.k, kPastKey, kPresentKey, cache_.key_room, plan_.k),
                           .v = cached(cache_.v, kPastValue, kPresentValue, cache_.value_room, plan_.v),
                           .mask = input(kScoreBias),
                           .counts = CudaKernel::input(kLastKeys),
                           .sinks = input(kSink),
                           .form = AttentionPlaces::Counts::kLastKeys,
                           .longest = cache_.longest,
                           .has_zero_sinks = cache_.smooth};
    if (!add_attention(*kernel_, plan_, places, 0)) return nullptr;
    // Rotated values are rounded as they are stored.
    if (cache_.half > 0 && plan_.element != ElementType::kFloat) kernel_->contract.operands = plan_.element;
    return std::move(kernel_);
  }

 private:
  std::optional<Place> input(size_t index) const {
    return request_.has(index) ? std::optional(CudaKernel::input(index)) : std::nullopt;
  }

  Place place_of(const HeadsPlace& heads) const {
    return CudaKernel::input(static_cast<size_t>(heads.input),
                             static_cast<size_t>(heads.offset) * element_size(plan_.element));
  }

  HeadRows rows_of(const HeadsPlace& from, const HeadsPlace& to) const {
    return {.element = plan_.element,
            .from = from,
            .to = to,
            .x = place_of(from),
            .y = {},
            .old_rows = cache_.old_rows,
            .last_keys = CudaKernel::input(kLastKeys),
            .longest = cache_.longest};
  }

  std::optional<Rotation> rotation() const {
    if (cache_.half == 0) return std::nullopt;
    using Positions = Rotation::Positions;
    const auto positions = input(kPositions);
    return Rotation{.cosines = CudaKernel::input(kCosines),
                    .sines = CudaKernel::input(kSines),
                    .positions = positions.value_or(Place{}),
                    .form = positions ? Positions::kOfEach : Positions::kBehind,
                    .half = cache_.half,
                    .angles = cache_.angles,
                    .interleaved = cache_.interleaved};
  }

  // Turned, if they are, as the plan has them then.
  Place queries() {
    if (cache_.half == 0) return place_of(cache_.q);
    HeadRows rows = rows_of(cache_.q, plan_.q);
    rows.y = kernel_->more_scratch(plan_.q.batch * plan_.q.batch_stride, plan_.element);
    rows.rotation = rotation();
    add_head_rows(*kernel_, rows);
    return rows.y;
  }

  Place cached(const HeadsPlace& added, size_t past, size_t present, const CachePlan::Room& room,
               const HeadsPlace& all) {
    HeadRows rows = rows_of(added, all);
    rows.y = request_.wants(present) ? CudaKernel::output(present)
                                     : kernel_->more_scratch(all.batch * all.batch_stride, plan_.element);
    if (past == kPastKey) rows.rotation = rotation();
    rows.appends = true;
    if (cache_.old_rows > 0 && !lies_behind(request_, present, past)) rows.past = CudaKernel::input(past);
    rows.past_room = room.past;
    add_head_rows(*kernel_, rows);
    return rows.y;
  }

  const KernelRequest& request_;
  CachePlan cache_;
  AttentionPlan plan_;
  std::unique_ptr<CudaKernel> kernel_;
};

std::unique_ptr<CudaKernel> make(const KernelRequest& request, std::string& reason) {
  const auto plans = plan_group_query(request);
  auto kernel = plans ? Maker(request, *plans).make() : nullptr;
  if (!kernel) reason = fmt::format("no {} of such inputs", request.node.op);
  return kernel;
}

}  // namespace

void register_group_query_attention(KernelRegistry& registry) {
  registry.add("com.microsoft", "GroupQueryAttention", make, lay_out_plain, lay_out_attention_caches);
}

}  // namespace vernier::cuda

// GroupQueryAttention of com.microsoft on floats: new rows go into the cache, each batch entry behind its own
// old ones, and attention reads the cache.
#include "vernier/backends/cpu/attention/attention_places.h"
#include "vernier/backends/cpu/attention/rotate_row.h"
#include "vernier/backends/cpu/kernel_registry.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/shared/attention/group_query_plan.h"
#include "vernier/exec/kernel_decorator.h"

namespace vernier::cpu {

namespace {

using namespace group_query;

constexpr size_t kAlignment = 64;

class GroupQueryAttention : public KernelDecorator {
 public:
  GroupQueryAttention(const KernelRequest& request, const CachePlan& plan, std::unique_ptr<Kernel> inner)
      : KernelDecorator(std::move(inner)), node_(request.node.name), plan_(plan) {
    for (size_t i = 0; i < kFirstUnserved; ++i) given_[i] = request.has(i);
    for (const size_t output : {kPresentKey, kPresentValue}) wanted_[output] = request.wants(output);
    const auto place = [this](int64_t count, size_t size) {
      const size_t at = scratch_bytes;
      scratch_bytes += (static_cast<size_t>(count) * size + kAlignment - 1) / kAlignment * kAlignment;
      return at;
    };
    queries_at_ =
        place(plan.half > 0 ? plan.q.batch * plan.q.heads * plan.q.rows * plan.q.size : 0, sizeof(float));
    for (const size_t output : {kPresentKey, kPresentValue})
      cache_at_[output] = place(wanted_[output] ? 0 : cache_rows() * plan.keys * plan.k.size, sizeof(float));
    counts_at_ = place(2 * plan.q.batch, sizeof(int64_t));
    sinks_at_ = place(plan.smooth ? plan.q.heads : 0, sizeof(float));
    inner_at_ = place(static_cast<int64_t>(inner_->scratch_bytes), 1);
  }

  void run(const KernelArguments& arguments) const override {
    auto* valid = reinterpret_cast<int64_t*>(arguments.scratch + counts_at_);
    int64_t* old = valid + plan_.q.batch;
    count_keys(static_cast<const int32_t*>(arguments.inputs[kLastKeys]), valid, old);
    const Turn turn(arguments, plan_, given_, old);
    check_positions(turn);
    std::array<float*, 3> cache{};
    for (const size_t output : {kPresentKey, kPresentValue}) {
      cache[output] = wanted_[output] ? static_cast<float*>(arguments.outputs[output])
                                      : reinterpret_cast<float*>(arguments.scratch + cache_at_[output]);
    }
    auto* queries = reinterpret_cast<float*>(arguments.scratch + queries_at_);
    parallel(cache_rows(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        fill(arguments, i, old, kPastKey, plan_.k, plan_.key_room, plan_.half > 0 ? &turn : nullptr,
             cache[kPresentKey]);
        fill(arguments, i, old, kPastValue, plan_.v, plan_.value_room, nullptr, cache[kPresentValue]);
      }
    });
    if (plan_.half > 0) {
      parallel(plan_.q.batch * plan_.q.heads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          copy_rows(arguments, i, plan_.q, &turn, queries + i * plan_.q.rows * plan_.q.size);
      });
    }
    attend(arguments, queries, cache, valid, old);
  }

 private:
  // The angles of rows.
  struct Turn {
    const float *cosines, *sines;
    const int64_t *positions, *old;
    int64_t rows;

    Turn(const KernelArguments& arguments, const CachePlan& plan,
         const std::array<bool, kFirstUnserved>& given, const int64_t* old_rows)
        : cosines(given[kCosines] ? static_cast<const float*>(arguments.inputs[kCosines]) : nullptr),
          sines(given[kSines] ? static_cast<const float*>(arguments.inputs[kSines]) : nullptr),
          positions(given[kPositions] ? static_cast<const int64_t*>(arguments.inputs[kPositions]) : nullptr),
          old(old_rows),
          rows(plan.q.rows) {}
    int64_t position(int64_t entry, int64_t row) const {
      return positions == nullptr ? old[entry] + row : positions[entry * rows + row];
    }
  };

  int64_t cache_rows() const { return plan_.k.batch * plan_.k.heads; }

  // Keys of each entry, and those of them that are old: none where all are new, a prompt.
  void count_keys(const int32_t* last, int64_t* valid, int64_t* old) const {
    const int64_t rows = plan_.q.rows;
    for (int64_t entry = 0; entry < plan_.q.batch; ++entry) {
      valid[entry] = int64_t{last[entry]} + 1;
      old[entry] = rows == plan_.longest ? 0 : valid[entry] - rows;
      if (valid[entry] < 1 || valid[entry] > plan_.longest || old[entry] < 0 || old[entry] > plan_.old_rows ||
          old[entry] + rows > plan_.keys)
        throw bad_input("{} keys of at most {}, {} of them old and {} new", valid[entry], plan_.longest,
                        old[entry], rows)
            .at_node(node_);
    }
  }

  void check_positions(const Turn& turn) const {
    for (int64_t i = 0; plan_.half > 0 && i < plan_.q.batch * plan_.q.rows; ++i) {
      const int64_t position = turn.position(i / plan_.q.rows, i % plan_.q.rows);
      if (position < 0 || position >= plan_.angles)
        throw bad_input("position {} is not among the {} of the cache", position, plan_.angles)
            .at_node(node_);
    }
  }

  // The rows of one head, turned if there is a way to, one behind another.
  void copy_rows(const KernelArguments& arguments, int64_t index, const HeadsPlace& place, const Turn* turn,
                 float* to) const {
    const int64_t entry = index / place.heads;
    const float* x =
        static_cast<const float*>(arguments.inputs[place.input]) + place.at(entry, index % place.heads);
    for (int64_t row = 0; row < place.rows; ++row, x += place.row_stride, to += place.size) {
      if (turn == nullptr) {
        std::copy_n(x, place.size, to);
        continue;
      }
      const int64_t angle = turn->position(entry, row) * plan_.half;
      rotate_row(x, place.size, turn->cosines + angle, turn->sines + angle, plan_.half, plan_.interleaved,
                 to);
    }
  }

  // One head of the present: old rows, which lie there already in a cache, new ones, zeros.
  void fill(const KernelArguments& arguments, int64_t index, const int64_t* old, size_t past,
            const HeadsPlace& added, const CachePlan::Room& room, const Turn* turn, float* present) const {
    const int64_t kept = old[index / added.heads], size = added.size;
    float* to = present + index * room.present * size;
    if (kept > 0 && arguments.inputs[past] != present)
      std::copy_n(static_cast<const float*>(arguments.inputs[past]) + index * room.past * size, kept * size,
                  to);
    copy_rows(arguments, index, added, turn, to + kept * size);
    std::fill(to + (kept + added.rows) * size, to + plan_.keys * size, 0.0F);
  }

  void attend(const KernelArguments& arguments, const float* queries, const std::array<float*, 3>& cache,
              const int64_t* valid, const int64_t* old) const {
    auto* sinks = reinterpret_cast<float*>(arguments.scratch + sinks_at_);
    if (plan_.smooth) std::fill_n(sinks, plan_.q.heads, 0.0F);
    const auto input = [&](size_t i) { return given_[i] ? arguments.inputs[i] : nullptr; };
    const std::array<const void*, kInnerInputs> inputs = {plan_.half > 0 ? queries : arguments.inputs[kQuery],
                                                          cache[kPresentKey],
                                                          cache[kPresentValue],
                                                          valid,
                                                          old,
                                                          input(kScoreBias),
                                                          plan_.smooth ? sinks : input(kSink)};
    void* output = arguments.outputs[kOut];
    inner_->run({inputs.data(), &output, arguments.scratch + inner_at_});
  }

  std::string node_;
  CachePlan plan_;
  std::array<bool, kFirstUnserved> given_{};
  std::array<bool, 3> wanted_{};
  std::array<size_t, 3> cache_at_{};
  size_t queries_at_ = 0, counts_at_ = 0, sinks_at_ = 0, inner_at_ = 0;
};

std::optional<GroupQueryPlans> plan_on_floats(const KernelRequest& request) {
  auto plans = plan_group_query(request);
  const bool is_served =
      plans && plans->attention.element == ElementType::kFloat && serves_heads(plans->attention);
  return is_served ? plans : std::nullopt;
}

std::unique_ptr<Kernel> make_group_query_attention(const KernelRequest& request, std::string& reason) {
  const auto plans = plan_on_floats(request);
  if (!plans) return refuse(request, reason);
  auto inner = make_attention(plans->attention, request, reason);
  return inner ? std::make_unique<GroupQueryAttention>(request, plans->cache, std::move(inner)) : nullptr;
}

std::vector<std::string> tactics_group_query_attention(const KernelRequest& request) {
  const auto plans = plan_on_floats(request);
  return plans ? attention_tactics(plans->attention) : std::vector<std::string>();
}

}  // namespace

void register_group_query_attention(KernelRegistry& registry) {
  registry.add({"com.microsoft", "GroupQueryAttention", LayoutRule::kPlain, Priority::kOwn,
                make_group_query_attention, tactics_group_query_attention, false, lay_out_attention_caches});
}

}  // namespace vernier::cpu

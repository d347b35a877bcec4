#include "vernier/exec/planning/schedule.h"

#include <algorithm>

namespace vernier {

namespace {

constexpr size_t kNone = SIZE_MAX;

class Scheduler {
 public:
  explicit Scheduler(Plan& plan)
      : plan_(plan), made_by_(plan.slots.size(), kNone), read_by_(plan.slots.size()) {
    for (size_t device = 1; device < plan.devices.size(); ++device)
      plan.streams.insert(plan.streams.end(), static_cast<size_t>(plan.devices[device]->stream_count()),
                          static_cast<int>(device));
    last_.assign(plan.streams.size(), kNone);
  }

  void run() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) add(s);
    // The memory of the next run is that of this one.
    for (const size_t last : last_) {
      if (last == kNone) continue;
      plan_.end_waits.push_back(last);
      plan_.steps[last].is_awaited = true;
    }
  }

 private:
  size_t storage(SlotId id) const {
    return static_cast<size_t>(plan_.slots[static_cast<size_t>(id)].storage);
  }
  size_t& made_by(SlotId id) { return made_by_[storage(id)]; }
  // Only in caches is there something that is read before it is written.
  bool lies_in_cache(SlotId id) const {
    return id != kNoSlot && plan_.slots[storage(id)].operand.layout == Layout::kCache;
  }

  std::vector<size_t> producers(const Step& step) {
    std::vector<size_t> all;
    const auto add = [&](SlotId id) {
      if (id != kNoSlot && made_by(id) != kNone) add_once(made_by(id), all);
    };
    for (const SlotId id : step.inputs) add(id);
    for (const auto& captured : step.captured) {
      for (const SlotId id : captured.second) add(id);
    }
    return all;
  }

  static void add_once(size_t step, std::vector<size_t>& all) {
    if (std::find(all.begin(), all.end(), step) == all.end()) all.push_back(step);
  }

  // Adds the steps that read, or wrote, the cache that the step writes into.
  void add_earlier_users(const Step& step, std::vector<size_t>& needed) {
    for (const SlotId id : step.outputs) {
      if (!lies_in_cache(id)) continue;
      if (made_by(id) != kNone) add_once(made_by(id), needed);
      for (const size_t reader : read_by_[storage(id)]) add_once(reader, needed);
      read_by_[storage(id)].clear();
    }
  }

  // Chooses the stream of a producer that nothing has followed so far, else the one that has waited longest
  // for work.
  int stream_for(const Step& step, const std::vector<size_t>& producers) const {
    int best = kCallersThread;
    for (size_t i = 0; i < plan_.streams.size(); ++i) {
      if (plan_.streams[i] != step.device) continue;
      if (last_[i] != kNone && std::find(producers.begin(), producers.end(), last_[i]) != producers.end())
        return static_cast<int>(i);
      const auto idle_since = [&](int stream) { return last_[static_cast<size_t>(stream)] + 1; };  // none: 0
      if (best == kCallersThread || idle_since(static_cast<int>(i)) < idle_since(best))
        best = static_cast<int>(i);
    }
    return best;
  }

  void add(size_t s) {
    Step& step = plan_.steps[s];
    auto needed = producers(step);
    add_earlier_users(step, needed);
    if (step.device != kHost) {
      step.stream = stream_for(step, needed);
      last_[static_cast<size_t>(step.stream)] = s;
    }
    for (const size_t producer : needed) {
      Step& other = plan_.steps[producer];
      if (other.stream == kCallersThread || other.stream == step.stream) continue;
      step.waits.push_back(producer);
      other.is_awaited = true;
    }
    for (const SlotId id : step.inputs) {
      if (lies_in_cache(id)) read_by_[storage(id)].push_back(s);
    }
    for (const SlotId id : step.outputs) {
      if (id != kNoSlot) made_by(id) = s;
    }
  }

  Plan& plan_;
  std::vector<size_t> made_by_;               // by slot that owns memory
  std::vector<std::vector<size_t>> read_by_;  // likewise, since it was made
  std::vector<size_t> last_;                  // step of each stream
};

}  // namespace

void schedule(Plan& plan) {
  if (plan.devices.size() > 1) Scheduler(plan).run();
}

StepOrder::StepOrder(const Plan& plan) {
  if (plan.streams.empty()) return;
  std::vector<size_t> last(plan.streams.size(), kNone);
  size_t last_on_host = kNone;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    std::vector<bool> earlier(plan.steps.size(), false);
    const auto follow = [&](size_t other) {
      if (other == kNone) return;
      for (size_t i = 0; i < other; ++i) earlier[i] = earlier[i] || before_[other][i];
      earlier[other] = true;
    };
    follow(last_on_host);
    size_t& previous = step.stream == kCallersThread ? last_on_host : last[static_cast<size_t>(step.stream)];
    follow(previous);
    for (const size_t other : step.waits) follow(other);
    previous = s;
    before_.push_back(std::move(earlier));
  }
}

bool StepOrder::before(size_t a, size_t b) const {
  return before_.empty() || b >= before_.size() ? a < b : before_[b][a];
}

}  // namespace vernier

#include "vernier/exec/probing/repeated_run.h"

#include <cstring>

namespace vernier {

bool RepeatedRun::serves(const Plan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(),
                     [](const Step& step) { return step.kernel != nullptr; });
}

RepeatedRun::RepeatedRun(Execution& execution, std::vector<Datum> inputs)
    : execution_(execution), inputs_(std::move(inputs)), lifetimes_(execution.plan().slots.size()) {
  const Plan& plan = execution_.plan();
  const auto lifetime = [&](SlotId id) -> Lifetime& {
    return lifetimes_[static_cast<size_t>(plan.slots[static_cast<size_t>(id)].storage)];
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    for (const SlotId id : plan.steps[i].inputs) {
      if (id != kNoSlot) lifetime(id).last = i;
    }
    for (const SlotId id : plan.steps[i].outputs) {
      if (id != kNoSlot) lifetime(id).first = std::min(lifetime(id).first, i);
    }
  }
  for (const SlotId id : plan.outputs) lifetime(id).last = plan.steps.size();
  execution_.begin(inputs_, outputs_, {});
}

void RepeatedRun::advance() {
  give_back();
  execution_.run_steps(step_, step_ + 1, {});
  ++step_;
}

const std::vector<Datum>& RepeatedRun::run_rest() {
  give_back();
  keep();
  execution_.run_steps(step_, execution_.plan().steps.size(), {});
  execution_.finish_outputs(outputs_, inputs_, {});
  return outputs_;
}

void RepeatedRun::keep() {
  const Plan& plan = execution_.plan();
  for (size_t i = 0; i < lifetimes_.size(); ++i) {
    if (lifetimes_[i].first >= step_ || lifetimes_[i].last < step_) continue;
    const auto* from = static_cast<const std::byte*>(execution_.memory_[i]);
    kept_.push_back({execution_.memory_[i], {from, from + plan.slots[i].bytes()}});
  }
}

void RepeatedRun::give_back() {
  for (const Area& area : kept_) {
    if (!area.content.empty()) std::memcpy(area.at, area.content.data(), area.content.size());
  }
  kept_.clear();
}

}  // namespace vernier

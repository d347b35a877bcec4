#include "vernier/reduce/shrinking.h"

#include <utility>

namespace vernier {

Shrinking::Shrinking(ReproCase start, Judgement judgement, ReductionOracle& oracle, const Stopwatch& watch)
    : oracle_(oracle), watch_(watch), wanted_(judgement.symptom) {
  kept_.push_back(std::move(start));
  judgements_.push_back(std::move(judgement));
}

void Shrinking::begin(const std::string& name) {
  if (on_step) on_step(name);
  noted_ = watch_.seconds();
  for (const ReductionStep& step : steps_) {
    if (step.name == name) {
      // A kind that comes again goes on where it was, as the last one.
      ReductionStep again = step;
      std::erase_if(steps_, [&](const ReductionStep& each) { return each.name == name; });
      steps_.push_back(std::move(again));
      return;
    }
  }
  steps_.push_back({name});
}

bool Shrinking::is_over() const {
  return is_interrupted() || watch_.is_past(part_);
}

bool Shrinking::offer(ReproCase candidate) {
  if (is_over() || !settle(candidate)) return false;
  if (steps_.empty()) begin("nodes");
  ReductionStep& step = steps_.back();
  ++step.tried;
  Judgement judgement = oracle_.judge(candidate);
  step.seconds += watch_.seconds() - std::exchange(noted_, watch_.seconds());
  // An engine that was ended by the user's interruption says nothing.
  const bool is_kept = !is_interrupted() && is_same_symptom(judgement.symptom, wanted_);
  if (is_kept) {
    ++step.kept;
    kept_.push_back(std::move(candidate));
    judgements_.push_back(std::move(judgement));
  }
  step.nodes = node_count(best().model);
  step.bytes = constant_bytes(best().model);
  return is_kept;
}

bool Shrinking::step_back() {
  if (kept_.size() < 2) return false;
  kept_.pop_back();
  judgements_.pop_back();
  return true;
}

}  // namespace vernier

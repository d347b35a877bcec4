#include "vernier/engine/describe.h"
#include "vernier/exec/replay/replay_segments.h"

namespace vernier {

namespace {

// Counts what is copied between devices because a node runs where it does: the copies that bring its inputs,
// and those that take its outputs further.
class CopiesAround {
 public:
  explicit CopiesAround(const Plan& plan) : plan_(plan) {
    for (const Step& step : plan.steps) {
      for (const SlotId id : step.outputs) {
        if (id != kNoSlot) maker_[memory(id)] = &step;
      }
      for (const SlotId id : step.inputs) {
        if (id != kNoSlot) readers_[memory(id)].insert(&step);
      }
    }
  }

  size_t bytes(const Step& step) const {
    std::set<const Step*> copies;
    for (const SlotId id : step.inputs) add_before(id, copies);
    for (const auto& captured : step.captured) {
      for (const SlotId id : captured.second) add_before(id, copies);
    }
    for (const SlotId id : step.outputs) add_behind(id, copies);
    size_t bytes = 0;
    for (const Step* copy : copies) bytes += copied_bytes(plan_, *copy);
    return bytes;
  }

 private:
  SlotId memory(SlotId id) const { return plan_.slots[static_cast<size_t>(id)].storage; }
  static bool changes_layout(const Step& step) { return step.node == nullptr && !step.copies; }

  void add_before(SlotId id, std::set<const Step*>& copies) const {
    const auto found = id == kNoSlot ? maker_.end() : maker_.find(memory(id));
    if (found == maker_.end()) return;
    if (found->second->copies) copies.insert(found->second);
    if (changes_layout(*found->second)) add_before(found->second->inputs[0], copies);
  }

  void add_behind(SlotId id, std::set<const Step*>& copies) const {
    const auto found = id == kNoSlot ? readers_.end() : readers_.find(memory(id));
    if (found == readers_.end()) return;
    for (const Step* reader : found->second) {
      if (reader->copies) copies.insert(reader);
      if (changes_layout(*reader)) add_behind(reader->outputs[0], copies);
    }
  }

  const Plan& plan_;
  std::map<SlotId, const Step*> maker_;  // by the slot that owns the memory
  std::map<SlotId, std::set<const Step*>> readers_;
};

const std::string& device_of(const Plan& plan, SlotId id) {
  return plan.devices[static_cast<size_t>(plan.slots[static_cast<size_t>(id)].device)]->name();
}

}  // namespace

size_t copied_bytes(const Plan& plan, const Step& step) {
  return step.copies ? plan.slots[static_cast<size_t>(step.inputs[0])].bytes() : 0;
}

std::string kernel_name(const Plan& plan, const Step& step) {
  if (step.copies) return "copy to " + device_of(plan, step.outputs[0]);
  return step.kernel ? step.kernel->name : "";
}

std::string captures_text(const Plan& plan, const ReplayStore& replays) {
  const ReplaySegments found = replay_segments(plan);
  size_t steps = 0, count = 0;
  std::string refusals;
  for (const ReplaySegment& segment : found.segments) {
    for (const ReplayStore::Entry& entry : replays.entries()) {
      if (entry.plan != plan.id || entry.step != segment.first) continue;
      if (!entry.refusal.empty())
        refusals += fmt::format("; not from step {} on: {}", entry.step, entry.refusal);
      if (entry.replay == nullptr) continue;
      steps += segment.end - segment.first;
      ++count;
      break;
    }
  }
  if (found.segments.empty()) return "";
  std::map<std::string, size_t> splits;
  for (const ReplaySplit& split : found.splits) ++splits[split.reason];
  std::vector<std::string> texts;
  texts.reserve(splits.size());
  for (const auto& [reason, times] : splits)
    texts.push_back(times == 1 ? reason : fmt::format("{} ({} times)", reason, times));
  return fmt::format("{} of {} steps in {} replay{}{}{}{}", steps, plan.steps.size(), count,
                     count == 1 ? "" : "s", texts.empty() ? "" : "; split by ", fmt::join(texts, ", "),
                     refusals);
}

std::vector<StepDescription> describe_steps(const Plan& plan) {
  const CopiesAround copies(plan);
  std::vector<StepDescription> steps;
  for (const Step& step : plan.steps) {
    StepDescription description;
    description.kernel = kernel_name(plan, step);
    description.reason = step.reason;
    description.device = plan.devices[static_cast<size_t>(step.device)]->name();
    description.refusal = step.refusal;
    description.copied = step.refusal.empty() ? copied_bytes(plan, step) : copies.bytes(step);
    if (step.node != nullptr)
      description.nodes.assign(step.node->provenance.begin(), step.node->provenance.end());
    if (step.kernel && step.node != nullptr) description.contract = step.kernel->contract.text();
    if (!step.is_settled()) description.contract = "the reference, in double";
    steps.push_back(std::move(description));
  }
  return steps;
}

}  // namespace vernier

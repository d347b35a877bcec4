#include "vernier/exec/replay/replay_segments.h"

#include <algorithm>

namespace vernier {

namespace {

// Why the step is part of no segment; empty if it may be part of one.
std::string refusal(const Plan& plan, const Step& step) {
  const auto device_of = [&](SlotId id) { return plan.slots[static_cast<size_t>(id)].device; };
  const auto name_of = [&](SlotId id) { return plan.devices[static_cast<size_t>(device_of(id))]->name(); };
  if (step.copies && device_of(step.inputs[0]) != device_of(step.outputs[0]))
    return fmt::format("a copy from {} to {}", name_of(step.inputs[0]), name_of(step.outputs[0]));
  if (step.stream == kCallersThread) {
    const std::string& why = step.refusal.empty() ? step.reason : step.refusal;
    return fmt::format("'{}' runs on the CPU{}{}",
                       step.node == nullptr ? "a change of layout" : step.node->name, why.empty() ? "" : ": ",
                       why);
  }
  const Device& device = *plan.devices[static_cast<size_t>(step.device)];
  return device.captures() ? "" : fmt::format("{} captures nothing", device.name());
}

// Why the step cannot follow the one before it in the same segment.
std::string separation(const Step& before, const Step& step) {
  if (step.stream != before.stream) return "it runs on another stream than the step before it";
  return step.waits.empty() ? "" : "it waits for another stream";
}

std::vector<SlotId> memory_of(const Plan& plan, size_t first, size_t end) {
  std::vector<SlotId> all;
  const auto add = [&](const std::vector<SlotId>& ids) {
    for (const SlotId id : ids) {
      if (id != kNoSlot) all.push_back(plan.slots[static_cast<size_t>(id)].storage);
    }
  };
  for (size_t i = first; i < end; ++i) {
    add(plan.steps[i].inputs);
    add(plan.steps[i].outputs);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

ReplaySegments replay_segments(const Plan& plan) {
  ReplaySegments found;
  if (plan.streams.empty()) return found;
  std::vector<ReplaySplit> waiting;  // splits, if a segment follows
  const auto add = [&](size_t first, size_t end) {
    if (first == end) return;
    if (!found.segments.empty()) found.splits.insert(found.splits.end(), waiting.begin(), waiting.end());
    waiting.clear();
    found.segments.push_back({first, end, memory_of(plan, first, end)});
  };
  size_t first = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    std::string why = refusal(plan, plan.steps[i]);
    const bool fits = why.empty();
    if (fits && i > first) why = separation(plan.steps[i - 1], plan.steps[i]);
    if (why.empty()) continue;
    add(first, i);
    waiting.push_back({i, std::move(why)});
    first = fits ? i : i + 1;
  }
  add(first, plan.steps.size());
  return found;
}

}  // namespace vernier

// The part of a run that is captured once and replayed: its host only says "again".
#include "vernier/exec/execution.h"

namespace vernier {

void Execution::run_all_steps(const RunOptions& options) {
  size_t next = 0;
  if (options.observer == nullptr) {
    for (const ReplaySegment& segment : segments_) {
      run_steps(next, segment.first, options);
      run_segment(segment, options);
      next = segment.end;
    }
  }
  run_steps(next, plan_->steps.size(), options);
}

void Execution::run_segment(const ReplaySegment& segment, const RunOptions& options) {
  const Step& first = plan_->steps[segment.first];
  addresses_.clear();
  addresses_.push_back(bases_[static_cast<size_t>(first.device)]);  // working memory lies behind it
  for (const SlotId id : segment.memory) addresses_.push_back(memory_[static_cast<size_t>(id)]);
  ReplayStore::Entry& entry = session_.replays().entry(plan_->id, segment.first, addresses_);
  // The first run does what is done once: libraries load kernels, for example, which no capture may.
  if (entry.runs > 1 && entry.replay == nullptr && entry.refusal.empty())
    entry.replay = capture(segment, entry.refusal);
  if (entry.replay == nullptr) return run_steps(segment.first, segment.end, options);
  stop_if_told(options.stop);
  wait_for_inputs(first);
  entry.replay->enqueue();
  Event end;
  for (size_t i = segment.first; i < segment.end; ++i) {
    if (!plan_->steps[i].is_awaited) continue;
    if (end.stream == nullptr) end = stream_of(first)->record();
    events_[i] = end;
  }
}

std::unique_ptr<Replay> Execution::capture(const ReplaySegment& segment, std::string& reason) {
  const Step& first = plan_->steps[segment.first];
  return plan_->devices[static_cast<size_t>(first.device)]->capture(
      *stream_of(first),
      [&] {
        for (size_t i = segment.first; i < segment.end; ++i) enqueue(plan_->steps[i]);
      },
      reason);
}

}  // namespace vernier

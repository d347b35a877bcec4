// Which steps of a plan are captured and replayed as one.
#pragma once

#include "vernier/exec/plan.h"

namespace vernier {

// Steps from `first` to before `end`, in the order of the plan: kernels and copies within its memory on one
// stream of a device that captures, between which neither the host nor another stream has anything to do.
struct ReplaySegment {
  size_t first = 0, end = 0;
  std::vector<SlotId> memory = {};  // the slots that own the memory which they use, each once
};

// A step that ends a segment, though steps of the device follow, and why it is no part of it.
struct ReplaySplit {
  size_t step = 0;
  std::string reason;
};

struct ReplaySegments {
  std::vector<ReplaySegment> segments;
  std::vector<ReplaySplit> splits;
};

ReplaySegments replay_segments(const Plan& plan);

}  // namespace vernier

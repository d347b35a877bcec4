// Looks at what goes on inside of an engine on one sample, seen without changing what it computes.
#pragma once

#include "vernier/diagnose/experiments/narrowing.h"

namespace vernier {

struct InnerLook {
  ShownRun shown;
  SameInputCheck check;
  std::vector<ChangingValue> changing;
  // A run on other inputs, directly before the one that is shown.
  std::optional<ShownRun> before;
  NamedData inputs_before;
  std::vector<std::string> notes;
};

struct InnerLookJob {
  EngineUnderTest* tested = nullptr;
  const Model* model = nullptr;
  const NamedData* inputs = nullptr;
  NamedData other;                   // inputs of the same sizes, for a run before
  const NamedData* plain = nullptr;  // outputs of a run that shows nothing
  const NamedData* right = nullptr;  // outputs of what the engine is compared with
  bool is_repeatable = true;         // the same inputs give the same outputs
  bool fails = true;                 // plain outputs are not accepted
  size_t most_bytes = size_t{1} << 30;
};

// Throws what the engine throws if it does not run at all.
InnerLook look_inside(const InnerLookJob& job, Stopwatch& watch);

}  // namespace vernier

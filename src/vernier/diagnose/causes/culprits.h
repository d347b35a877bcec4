// From suspects to culprits: the cause of each, and its share of the error of the outputs.
#pragma once

#include "vernier/diagnose/diagnose.h"
#include "vernier/diagnose/experiments/further_runs.h"
#include "vernier/diagnose/experiments/narrowing.h"

namespace vernier {

// The runs that suspects come from.
struct SuspectRuns {
  const ShownRun& shown;
  const NamedData& inputs;
  // The run before it, on other inputs; null: there was none.
  const ShownRun* before = nullptr;
  const NamedData* inputs_before = nullptr;
  // Values that the engine cannot show and give the same answer.
  const std::vector<ChangingValue>* changing = nullptr;
  // Null: the engine runs no more.
  FurtherRuns* further = nullptr;
};

// By rank, the most of the outputs' error first.
std::vector<Culprit> culprits_of(const SameInputCheck& check, const SuspectRuns& runs, size_t most,
                                 Stopwatch& watch);

}  // namespace vernier

// The reduction as it goes: the smallest case so far, and what was tried to make it smaller.
#pragma once

#include <functional>

#include "vernier/base/interruption.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/reduce/oracle.h"

namespace vernier {

// One kind of change: "nodes", "sizes", …
struct ReductionStep {
  std::string name;
  size_t tried = 0, kept = 0;
  double seconds = 0;           // until its last candidate was judged
  size_t nodes = 0, bytes = 0;  // of the model that is left
};

class Shrinking {
 public:
  // All outlive this. `start` shows `judgement`.
  Shrinking(ReproCase start, Judgement judgement, ReductionOracle& oracle, const Stopwatch& watch);

  const ReproCase& best() const { return kept_.back(); }
  const Judgement& judgement() const { return judgements_.back(); }
  // Every case must show this, which the whole model shows.
  const Symptom& wanted() const { return wanted_; }
  ReductionOracle& oracle() { return oracle_; }

  // Begins a kind of change; called with its name, for progress.
  std::function<void(const std::string& name)> on_step;
  void begin(const std::string& name);
  // Whether the candidate shows the same; then it is the best one now. Always false once the time is over.
  // A candidate that is no valid model does not count as tried.
  bool offer(ReproCase candidate);
  bool is_over() const;
  // It is over when so large a part of the time is spent; 1 in the beginning.
  void limit_part(double part) { part_ = part; }

  const std::vector<ReductionStep>& steps() const { return steps_; }
  bool has_kept() const { return kept_.size() > 1; }
  // Gives up the best case for the one before it, if there is one: where it does not show the same again.
  bool step_back();

 private:
  ReductionOracle& oracle_;
  const Stopwatch& watch_;
  Symptom wanted_;
  double part_ = 1;
  double noted_ = 0;             // seconds that the steps have
  std::vector<ReproCase> kept_;  // copies share their constants
  std::vector<Judgement> judgements_;
  std::vector<ReductionStep> steps_;
};

}  // namespace vernier

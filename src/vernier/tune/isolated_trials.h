// Trials in child processes, so that a candidate that crashes or hangs ends its child and not the build.
#pragma once

#include "vernier/tune/candidates.h"

namespace vernier {

// Thrown in a child by what depends on choices that the parent has to make and keep.
struct ChoicesMissing {};

class IsolatedTrials {
 public:
  struct Hooks {
    std::function<void()> enter_child;   // called first in each child, in the thread that runs kernels
    std::function<void()> make_choices;  // called in the parent after a child has thrown ChoicesMissing
    double step_seconds = 0;             // a step may take so long, or kTimesReference times the reference
  };
  static constexpr double kTimesReference = 20;

  // `candidates` outlive this.
  IsolatedTrials(Candidates& candidates, std::vector<std::string> tactics, Hooks hooks)
      : candidates_(candidates), tactics_(std::move(tactics)), hooks_(std::move(hooks)) {}

  // As Candidates::examine, all in one child. If that child does not end well, each tactic is tried again in
  // a child of its own: so none answers for what one before it did to the memory that they share, nor for a
  // lock that another thread of this process held when the child was made. What does not end well alone gets
  // a verdict that says so. Throws what Candidates::examine throws, but for a candidate that finds no memory,
  // and what run_forked throws.
  void examine(const TimingOptions& how, TacticFindings& findings);

 private:
  using Work = std::function<void(TacticFindings& findings)>;
  struct Outcome {
    std::string failure;  // how the child ended; "": well
    std::string tactic;   // then the tactic on trial
  };

  void prepare_reference(const TacticFindings& findings);
  // Does the work in a child. The findings are as it left them, or unchanged after a failure.
  Outcome run(const Work& work, TacticFindings& findings);
  std::string work_in_child(const Work& work, const TacticFindings& known) const;
  std::string tactic_of(uint64_t task, const std::string& failure) const;

  Candidates& candidates_;
  std::vector<std::string> tactics_;
  Hooks hooks_;
  double step_seconds_ = 0;
};

}  // namespace vernier

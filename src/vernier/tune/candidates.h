// The tactics of one request on trial: their kernels, the data that they run on, and what was found of each.
#pragma once

#include <functional>
#include <map>

#include "vernier/tune/trial.h"

namespace vernier {

// Holds what is known of the tactics of one request.
struct TacticFindings {
  TimingCache::Verdicts verdicts;  // with the weights of the request
  TimingCache::Verdicts special;   // of NaN and infinities, whatever the weights are
  TimingCache::Times times;

  // Gives the `tactics` that may be used, in their order.
  std::vector<std::string> usable(const std::vector<std::string>& tactics) const;
  // Whether verdicts and times are enough to choose among `tactics`.
  bool suffice(const std::vector<std::string>& tactics) const;
};

// How long candidates are timed, and what is read between their runs.
struct TimingOptions {
  double budget = 0;  // seconds for all candidates; 0: none is timed
  std::span<const std::byte> others = {};
};

class Candidates {
 public:
  // Null, with the reason set, if there is no kernel.
  using Make = std::function<std::unique_ptr<Kernel>(const KernelRequest& request, std::string& reason)>;
  // Called before each step of a trial with the tactic that it is of.
  using BeforeStep = std::function<void(const std::string& tactic)>;

  // All outlive this. `make` makes the kernel of a tactic.
  Candidates(const KernelRequest& request, const Backend& kernels, Make make,
             BeforeStep before_step = nullptr)
      : request_(request), kernels_(kernels), make_(std::move(make)), before_step_(std::move(before_step)) {}

  const KernelRequest& request() const { return request_; }
  void set_before_step(BeforeStep before_step) { before_step_ = std::move(before_step); }
  // Made when it is first asked for.
  Trial& trial();

  // Finds a verdict for each tactic that has none.
  void verify(const std::vector<std::string>& tactics, TacticFindings& findings);
  // Finds the times of all tactics that may be used.
  void time(const std::vector<std::string>& tactics, const TimingOptions& how, TacticFindings& findings);
  // Both; times only where verdicts and times do not suffice yet.
  void examine(const std::vector<std::string>& tactics, const TimingOptions& how, TacticFindings& findings);
  // Destroys the kernels.
  void forget_kernels() { kernels_made_.clear(); }

 private:
  // Null, with the reason in refusals_, if the backend makes none.
  const Kernel* kernel(const std::string& tactic);
  void before_step(const std::string& tactic) const {
    if (before_step_) before_step_(tactic);
  }

  const KernelRequest& request_;
  const Backend& kernels_;
  Make make_;
  BeforeStep before_step_;
  std::unique_ptr<Trial> trial_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_made_;
  std::map<std::string, std::string> refusals_;
};

}  // namespace vernier

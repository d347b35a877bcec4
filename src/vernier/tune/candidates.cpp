#include "vernier/tune/candidates.h"

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

struct Timed {
  std::string tactic;
  const Kernel* kernel;
  std::vector<double> seconds = {};
  // Disturbances make a run longer, so the shortest is the one least disturbed.
  double shortest() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

// In turn, so that what else the machine does meets all alike. One that is far behind is out, and the last
// one, or the only one, needs no more runs.
template <class Run>
void time_in_turn(std::vector<Timed>& candidates, double budget, const Run& run) {
  constexpr size_t kLeast = 5, kClear = 10, kMost = 200;  // rounds
  constexpr double kFarBehind = 1.5;
  double spent = 0;
  for (size_t round = 0; round < kMost && (round < kLeast || spent < budget); ++round) {
    double limit = HUGE_VAL;
    for (const Timed& candidate : candidates) {
      if (round >= kClear) limit = std::min(limit, kFarBehind * candidate.shortest());
    }
    size_t left = 0;
    for (Timed& candidate : candidates) {
      if (round >= kClear && candidate.shortest() > limit) continue;
      candidate.seconds.push_back(run(candidate));
      spent += candidate.seconds.back();
      ++left;
    }
    if (left < 2 && round + 1 >= kLeast) return;
  }
}

}  // namespace

std::vector<std::string> TacticFindings::usable(const std::vector<std::string>& tactics) const {
  std::vector<std::string> found;
  for (const std::string& tactic : tactics) {
    const auto verdict = verdicts.find(tactic);
    if (verdict != verdicts.end() && verdict->second.may_be_used()) found.push_back(tactic);
  }
  return found;
}

bool TacticFindings::suffice(const std::vector<std::string>& tactics) const {
  const bool judged = std::all_of(tactics.begin(), tactics.end(),
                                  [&](const std::string& tactic) { return verdicts.contains(tactic); });
  if (!judged) return false;
  const auto healthy = usable(tactics);
  return healthy.size() < 2 ||  // one alone needs no time
         std::all_of(healthy.begin(), healthy.end(),
                     [&](const std::string& tactic) { return times.contains(tactic); });
}

Trial& Candidates::trial() {
  if (!trial_) trial_ = std::make_unique<Trial>(request_, kernels_);
  return *trial_;
}

const Kernel* Candidates::kernel(const std::string& tactic) {
  auto found = kernels_made_.find(tactic);
  if (found == kernels_made_.end()) {
    before_step(tactic);
    KernelRequest asked = request_;
    asked.tactic = tactic;
    asked.packed = nullptr;  // what is tried is not kept
    found = kernels_made_.emplace(tactic, make_(asked, refusals_[tactic])).first;
  }
  return found->second.get();
}

// NaN and infinities are passed on alike whatever the weights are, so a tactic shows it once for each
// request.
void Candidates::verify(const std::vector<std::string>& tactics, TacticFindings& findings) {
  for (const std::string& tactic : tactics) {
    if (findings.verdicts.contains(tactic)) continue;
    const Kernel* kernel = this->kernel(tactic);
    if (kernel == nullptr) {
      findings.verdicts[tactic] = {.fault = refusals_[tactic], .refused = true};
      continue;
    }
    before_step(tactic);
    TacticVerdict verdict = trial().judge(*kernel);
    if (!findings.special.contains(tactic)) {
      before_step(tactic);
      findings.special[tactic].fault = trial().judge_special_values(*kernel);
    }
    if (verdict.fault.empty()) verdict.fault = findings.special[tactic].fault;
    findings.verdicts[tactic] = std::move(verdict);
  }
}

void Candidates::time(const std::vector<std::string>& tactics, const TimingOptions& how,
                      TacticFindings& findings) {
  std::vector<Timed> timed;
  for (const std::string& tactic : findings.usable(tactics)) {
    if (const Kernel* made = kernel(tactic)) timed.push_back({tactic, made});
  }
  time_in_turn(timed, how.budget, [&](const Timed& candidate) {
    before_step(candidate.tactic);
    return trial().time(*candidate.kernel, how.others);
  });
  for (const Timed& candidate : timed) {
    if (!candidate.seconds.empty()) findings.times[candidate.tactic] = candidate.shortest();
  }
}

void Candidates::examine(const std::vector<std::string>& tactics, const TimingOptions& how,
                         TacticFindings& findings) {
  verify(tactics, findings);
  if (how.budget > 0 && !findings.suffice(tactics)) time(tactics, how, findings);
}

}  // namespace vernier

#include "vernier/tune/tuner.h"

#include <algorithm>
#include <cmath>

#include "vernier/exec/group_members.h"
#include "vernier/ops/group.h"
#include "vernier/tune/isolated_trials.h"
#include "vernier/tune/request_key.h"

namespace vernier {

namespace {

// Less is noise.
constexpr double kWorthwhile = 0.97;
constexpr double kNear = 1.3, kAsExact = 2;  // times as slow, and as far from the reference

// Gives how many bytes are read between runs, so that weights are as far away as those of a model of this
// size.
size_t bytes_between(size_t constant_bytes) {
  const size_t third = third_cache();
  return constant_bytes < third ? second_caches() : std::min(constant_bytes, 2 * third);
}

}  // namespace

Tuner::Tuner(const Backend& kernels, TimingCache& cache, TuneOptions options, size_t constant_bytes,
             std::string device)
    : kernels_(kernels),
      cache_(cache),
      options_(std::move(options)),
      device_(std::move(device)),
      other_bytes_(bytes_between(constant_bytes)) {}

bool Tuner::allows(const std::string& tactic) const {
  return tactic.empty() ||
         (!options_.without.contains(tactic) && (options_.only.empty() || options_.only.contains(tactic)));
}

// A group that its backend would not compute as one: its nodes in turn, each by its best.
std::unique_ptr<Kernel> Tuner::make(const KernelRequest& request, NearTies near_ties, std::string& reason) {
  auto kernel = kernels_.make(request, reason);
  if (kernel || !request.tactic.empty() || !ops::is_group(request.node)) return kernel;
  if (in_child_ && !members_chosen_) throw ChoicesMissing();
  return make_sequential(request, [&](const KernelRequest& member) -> std::unique_ptr<Kernel> {
    const std::string tactic = choose(member, near_ties);
    KernelRequest chosen = member;
    chosen.tactic = tactic;
    return tactic == kReferenceTactic ? nullptr : make(chosen, near_ties, reason);
  });
}

void Tuner::examine(const KernelRequest& request, NearTies near_ties, const std::vector<std::string>& tactics,
                    TacticFindings& findings) {
  constexpr double kBudgets[] = {0, 0, 8e-3, 24e-3, 24e-3, 160e-3};
  Candidates candidates(request, kernels_, [&](const KernelRequest& asked, std::string& reason) {
    return make(asked, near_ties, reason);
  });
  TimingOptions how{kBudgets[std::clamp(options_.level, 0, 5)]};
  if (how.budget > 0 && tactics.size() > 1 && kernels_.device().host_visible()) {
    if (others_.size() < other_bytes_) others_.resize(other_bytes_);
    how.others = others_;
  }
  // A process that has used a device cannot use it in a copy of itself.
  if (options_.isolate && !in_child_ && kernels_.device().host_visible())
    examine_isolated(candidates, near_ties, tactics, how, findings);
  else
    candidates.examine(tactics, how, findings);
}

void Tuner::examine_isolated(Candidates& candidates, NearTies near_ties,
                             const std::vector<std::string>& tactics, const TimingOptions& how,
                             TacticFindings& findings) {
  IsolatedTrials::Hooks hooks;
  hooks.enter_child = [this] { in_child_ = true; };
  hooks.make_choices = [&] {
    choose_members(candidates.request(), near_ties);
    members_chosen_ = true;
  };
  hooks.step_seconds = options_.step_seconds;
  members_chosen_ = false;
  IsolatedTrials(candidates, tactics, std::move(hooks)).examine(how, findings);
}

// Chooses for a group that runs as its nodes. A child could find it out as well, but not tell of it.
void Tuner::choose_members(const KernelRequest& group, NearTies near_ties) {
  for (const KernelRequest& member : member_requests(group)) {
    if (choose(member, near_ties).empty() && ops::is_group(member.node)) choose_members(member, near_ties);
  }
}

// The backend's own choice stays unless another is faster by more than noise, or near ties are the others'.
std::string Tuner::fastest(const std::vector<std::string>& tactics, const TuneResult& result) const {
  std::string chosen = kReferenceTactic;
  const TacticRecord* best = nullptr;
  for (const std::string& tactic : tactics) {
    const auto found = result.records.find(tactic);
    if (found == result.records.end() || !found->second.quarantine.empty()) continue;
    const bool leans = best != nullptr && result.near_ties == NearTies::kOthers && chosen.empty() &&
                       found->second.error <= kAsExact * best->error;
    if (best != nullptr && found->second.seconds > (leans ? kNear : kWorthwhile) * best->seconds) continue;
    best = &found->second;
    chosen = tactic;
  }
  return best == nullptr && result.records.empty() ? "" : chosen;
}

std::string Tuner::choose(const KernelRequest& request, NearTies near_ties, const Admits& admits) {
  if (options_.level == 0 || !can_draw(request)) return "";
  const auto offered = kernels_.tactics(request);
  if (offered.empty() && options_.level < 4) return "";
  std::vector<std::string> tactics{""};
  std::copy_if(offered.begin(), offered.end(), std::back_inserter(tactics),
               [&](const std::string& tactic) { return allows(tactic); });
  const uint64_t content = content_.hash(request);
  const std::string key = device_.empty() ? request_key(request) : device_ + " " + request_key(request);
  TuneResult result{key, "", request.node.provenance, content, {}, true, near_ties};
  TacticFindings findings{cache_.verdicts(key, content), cache_.verdicts(key, kAnyContent),
                          cache_.times(key)};
  const auto& [verdicts, special, times] = findings;
  if (options_.level == 1 && times.empty()) return "";
  if (!findings.suffice(tactics)) {
    result.cached = false;
    examine(request, near_ties, tactics, findings);
    if (!times.empty()) cache_.put(key, times);
    cache_.put(key, content, verdicts);
    cache_.put(key, kAnyContent, special);
  }
  for (const std::string& tactic : tactics) {
    const auto verdict = verdicts.find(tactic);
    if (verdict == verdicts.end() || verdict->second.refused) continue;
    const auto seconds = times.find(tactic);
    // The cache alone decides at level 1: what it has no time of is not taken for another's sake.
    if (options_.level == 1 && !tactic.empty() && seconds == times.end()) continue;
    result.records[tactic] = {seconds == times.end() ? 0 : seconds->second, verdict->second.error,
                              verdict->second.fault};
  }
  // Known times of tactics that are not asked for are reported, too: what they would save.
  for (const auto& [tactic, verdict] : verdicts) {
    const auto seconds = times.find(tactic);
    if (!verdict.refused && seconds != times.end())
      result.records.try_emplace(tactic, TacticRecord{seconds->second, verdict.error, verdict.fault});
  }
  result.chosen = kReferenceTactic;
  if (admits) {
    std::vector<std::string> admitted;
    std::copy_if(tactics.begin(), tactics.end(), std::back_inserter(admitted), admits);
    if (!admitted.empty()) result.chosen = fastest(admitted, result);
  }
  if (result.chosen == kReferenceTactic) result.chosen = fastest(tactics, result);
  const auto forced = result.records.find(options_.forced);
  if (!options_.forced.empty() && allows(options_.forced) && forced != result.records.end() &&
      forced->second.quarantine.empty())
    result.chosen = options_.forced;
  results_.push_back(result);
  return result.chosen;
}

}  // namespace vernier

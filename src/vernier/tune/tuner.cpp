#include "vernier/tune/tuner.h"

#include <algorithm>
#include <cmath>

#include "vernier/exec/group_members.h"
#include "vernier/ops/group.h"
#include "vernier/tune/request_key.h"

namespace vernier {

namespace {

// Less is noise.
constexpr double kWorthwhile = 0.97;
constexpr double kNear = 1.3, kAsExact = 2;  // times as slow, and as far from the reference

// What is read between runs, so that weights are as far away as those of a model of so many bytes.
size_t bytes_between(size_t constant_bytes) {
  const size_t third = third_cache();
  return constant_bytes < third ? second_caches() : std::min(constant_bytes, 2 * third);
}

struct Candidate {
  std::string tactic;
  std::unique_ptr<Kernel> kernel;
  std::vector<double> seconds;
  // What disturbs a run makes it longer: the shortest is the one least disturbed.
  double shortest() const { return *std::min_element(seconds.begin(), seconds.end()); }
};

// In turn, so that what else the machine does meets all alike. One that is far behind is out, and the last
// one needs no more runs.
void time_in_turn(Trial& trial, std::vector<Candidate>& candidates, double budget,
                  std::span<const std::byte> others) {
  constexpr size_t kLeast = 5, kClear = 10, kMost = 200;  // rounds
  constexpr double kFarBehind = 1.5;
  double spent = 0;
  for (size_t round = 0; round < kMost && (round < kLeast || spent < budget); ++round) {
    double limit = HUGE_VAL;
    for (const Candidate& candidate : candidates) {
      if (round >= kClear) limit = std::min(limit, kFarBehind * candidate.shortest());
    }
    size_t left = 0;
    for (Candidate& candidate : candidates) {
      if (round >= kClear && candidate.shortest() > limit) continue;
      candidate.seconds.push_back(trial.time(*candidate.kernel, others));
      spent += candidate.seconds.back();
      ++left;
    }
    if (left < 2) return;
  }
}

}  // namespace

// The kernels of one request and the data that they are tried on, each made when it is first asked for.
class Tuner::Candidates {
 public:
  Candidates(Tuner& tuner, const KernelRequest& request, NearTies near_ties)
      : tuner_(tuner), request_(request), near_ties_(near_ties) {}

  Trial& trial() {
    if (!trial_) trial_ = std::make_unique<Trial>(request_, tuner_.kernels_);
    return *trial_;
  }

  // Null, with the reason in refusals(), if the backend makes none.
  Kernel* kernel(const std::string& tactic) {
    auto found = kernels_.find(tactic);
    if (found == kernels_.end()) {
      KernelRequest asked = request_;
      asked.tactic = tactic;
      asked.packed = nullptr;  // what is tried is not kept
      found = kernels_.emplace(tactic, tuner_.make(asked, near_ties_, refusals_[tactic])).first;
    }
    return found->second.get();
  }
  const std::string& refusal(const std::string& tactic) { return refusals_[tactic]; }
  std::unique_ptr<Kernel> take(const std::string& tactic) {
    kernel(tactic);
    return std::move(kernels_.at(tactic));
  }

  std::vector<std::string> healthy;  // tactics that may be used

 private:
  Tuner& tuner_;
  const KernelRequest& request_;
  NearTies near_ties_;
  std::unique_ptr<Trial> trial_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
  std::map<std::string, std::string> refusals_;
};

Tuner::Tuner(const KernelSource& kernels, TimingCache& cache, TuneOptions options, size_t constant_bytes)
    : kernels_(kernels),
      cache_(cache),
      options_(std::move(options)),
      other_bytes_(bytes_between(constant_bytes)) {}

bool Tuner::allows(const std::string& tactic) const {
  return tactic.empty() ||
         (!options_.without.contains(tactic) && (options_.only.empty() || options_.only.contains(tactic)));
}

// A group that its backend would not compute as one: its nodes in turn, each by its best.
std::unique_ptr<Kernel> Tuner::make(const KernelRequest& request, NearTies near_ties, std::string& reason) {
  auto kernel = kernels_.make(request, reason);
  if (kernel || !request.tactic.empty() || !ops::is_group(request.node)) return kernel;
  return make_in_turn(request, [&](const KernelRequest& member) -> std::unique_ptr<Kernel> {
    const std::string tactic = choose(member, near_ties);
    KernelRequest chosen = member;
    chosen.tactic = tactic;
    return tactic == kReferenceTactic ? nullptr : make(chosen, near_ties, reason);
  });
}

bool Tuner::is_known(const std::vector<std::string>& tactics, const TimingCache::Verdicts& verdicts,
                     const TimingCache::Times& times) const {
  size_t usable = 0, timed = 0;
  for (const std::string& tactic : tactics) {
    const auto verdict = verdicts.find(tactic);
    if (verdict == verdicts.end()) return false;
    if (!verdict->second.may_be_used()) continue;
    ++usable;
    timed += times.contains(tactic) ? 1 : 0;
  }
  return usable < 2 || timed == usable;  // one alone needs no time
}

// NaN and infinities are passed on alike whatever the weights are, so a tactic shows it once for each
// request.
void Tuner::verify(const std::vector<std::string>& tactics, Candidates& candidates,
                   TimingCache::Verdicts& verdicts, const std::string& key) {
  TimingCache::Verdicts special = cache_.verdicts(key, kAnyContent);
  for (const std::string& tactic : tactics) {
    if (verdicts.contains(tactic)) continue;
    const Kernel* kernel = candidates.kernel(tactic);
    if (kernel == nullptr) {
      verdicts[tactic] = {.fault = candidates.refusal(tactic), .refused = true};
      continue;
    }
    TacticVerdict verdict = candidates.trial().judge(*kernel);
    if (!special.contains(tactic)) special[tactic].fault = candidates.trial().judge_special_values(*kernel);
    if (verdict.fault.empty()) verdict.fault = special[tactic].fault;
    verdicts[tactic] = std::move(verdict);
  }
  cache_.put(key, kAnyContent, std::move(special));
}

void Tuner::time(Candidates& candidates, TimingCache::Times& times) {
  constexpr double kBudgets[] = {0, 0, 4e-3, 12e-3, 12e-3, 80e-3};
  std::vector<Candidate> timed;
  for (const std::string& tactic : candidates.healthy) {
    if (candidates.kernel(tactic) != nullptr) timed.push_back({tactic, candidates.take(tactic), {}});
  }
  if (timed.size() < 2) return;
  if (others_.size() < other_bytes_) others_.resize(other_bytes_);
  time_in_turn(candidates.trial(), timed, kBudgets[std::clamp(options_.level, 0, 5)] * 2, others_);
  for (const Candidate& candidate : timed) {
    if (!candidate.seconds.empty()) times[candidate.tactic] = candidate.shortest();
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

std::string Tuner::choose(const KernelRequest& request, NearTies near_ties) {
  if (options_.level == 0 || !Trial::can_draw(request)) return "";
  const auto offered = kernels_.tactics(request);
  if (offered.empty() && options_.level < 4) return "";
  std::vector<std::string> tactics{""};
  std::copy_if(offered.begin(), offered.end(), std::back_inserter(tactics),
               [&](const std::string& tactic) { return allows(tactic); });
  const uint64_t content = content_.hash(request);
  TuneResult result{request_key(request), "", content, {}, true, near_ties};
  TimingCache::Times times = cache_.times(result.request);
  TimingCache::Verdicts verdicts = cache_.verdicts(result.request, content);
  if (options_.level == 1 && times.empty()) return "";
  if (!is_known(tactics, verdicts, times)) {
    result.cached = false;
    Candidates candidates(*this, request, near_ties);
    verify(tactics, candidates, verdicts, result.request);
    for (const std::string& tactic : tactics) {
      if (verdicts.at(tactic).may_be_used()) candidates.healthy.push_back(tactic);
    }
    if (options_.level > 1 && !is_known(tactics, verdicts, times)) time(candidates, times);
    if (!times.empty()) cache_.put(result.request, times);
    cache_.put(result.request, content, verdicts);
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
  // What is known of tactics that are not asked for is told, too: what they would save.
  for (const auto& [tactic, verdict] : verdicts) {
    const auto seconds = times.find(tactic);
    if (!verdict.refused && seconds != times.end())
      result.records.try_emplace(tactic, TacticRecord{seconds->second, verdict.error, verdict.fault});
  }
  result.chosen = fastest(tactics, result);
  const auto forced = result.records.find(options_.forced);
  if (!options_.forced.empty() && allows(options_.forced) && forced != result.records.end() &&
      forced->second.quarantine.empty())
    result.chosen = options_.forced;
  results_.push_back(result);
  return result.chosen;
}

}  // namespace vernier

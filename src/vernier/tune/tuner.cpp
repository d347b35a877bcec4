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

Tuner::Tuner(const KernelSource& kernels, ReferenceOf reference, TimingCache& cache, TuneOptions options,
             size_t constant_bytes)
    : kernels_(kernels),
      reference_(std::move(reference)),
      cache_(cache),
      options_(std::move(options)),
      other_bytes_(bytes_between(constant_bytes)) {}

bool Tuner::allows(const std::string& tactic) const {
  return !options_.without.contains(tactic) && (options_.only.empty() || options_.only.contains(tactic));
}

// A group that its backend would not compute as one: its nodes in turn, each by its best.
std::unique_ptr<Kernel> Tuner::make(const KernelRequest& request, NearTies near_ties) {
  std::string reason;
  auto kernel = kernels_.make(request, reason);
  if (kernel || !request.tactic.empty() || !ops::is_group(request.node)) return kernel;
  return make_in_turn(request, [&](const KernelRequest& member) -> std::unique_ptr<Kernel> {
    const std::string tactic = choose(member, near_ties);
    KernelRequest chosen = member;
    chosen.tactic = tactic;
    return tactic == kReferenceTactic ? nullptr : make(chosen, near_ties);
  });
}

TimingCache::Records Tuner::measure(const KernelRequest& request, const std::vector<std::string>& tactics,
                                    NearTies near_ties) {
  TimingCache::Records records;
  std::vector<Candidate> candidates;
  Trial trial(request, kernels_, reference_);
  for (const std::string& tactic : tactics) {
    KernelRequest asked = request;
    asked.tactic = tactic;
    asked.packed = nullptr;
    auto kernel = make(asked, near_ties);
    if (!kernel) continue;
    TacticRecord& record = records[tactic];
    record.error = trial.error(*kernel);
    const double bound = error_bound(kernel->contract);
    if (record.error <= bound)
      candidates.push_back({tactic, std::move(kernel), {}});
    else
      record.quarantine = fmt::format("{} is {:.3g} from the reference, allowed are {:.3g}", kernel->name,
                                      record.error, bound);
  }
  const double budgets[] = {0, 0, 4e-3, 12e-3, 12e-3, 80e-3};
  if (candidates.size() > 1) {
    if (others_.size() < other_bytes_) others_.resize(other_bytes_);
    time_in_turn(trial, candidates, budgets[std::clamp(options_.level, 0, 5)] * 2, others_);
  }
  for (const Candidate& candidate : candidates) {
    if (!candidate.seconds.empty()) records[candidate.tactic].seconds = candidate.shortest();
  }
  return records;
}

std::string Tuner::choose(const KernelRequest& request, NearTies near_ties) {
  if (options_.level == 0 || !Trial::can_draw(request)) return "";
  std::vector<std::string> tactics{""};
  for (const std::string& tactic : kernels_.tactics(request)) tactics.push_back(tactic);
  if (tactics.size() == 1 && options_.level < 4) return "";
  TuneResult result{request_key(request), "", {}, true, near_ties};
  const auto* cached = cache_.find(result.request);
  const bool complete =
      cached != nullptr && std::all_of(tactics.begin(), tactics.end(), [&](const auto& each) {
        return cached->contains(each) || !allows(each);
      });
  if (cached == nullptr && options_.level == 1) return "";
  if (!complete && options_.level > 1) {
    std::erase_if(tactics, [&](const std::string& tactic) { return !tactic.empty() && !allows(tactic); });
    result.records = measure(request, tactics, near_ties);
    result.cached = false;
    TimingCache::Records all = cached != nullptr ? *cached : TimingCache::Records();
    for (const auto& [tactic, record] : result.records) all[tactic] = record;
    cache_.put(result.request, std::move(all));
  } else {
    result.records = *cached;
  }
  // The backend's own choice stays unless another is faster by more than noise, or near ties are the others'.
  const TacticRecord* best = nullptr;
  for (const std::string& tactic : tactics) {
    const auto found = result.records.find(tactic);
    if (found == result.records.end() || !found->second.quarantine.empty()) continue;
    if (!tactic.empty() && !allows(tactic)) continue;
    const bool leans = best != nullptr && near_ties == NearTies::kOthers && result.chosen.empty() &&
                       found->second.error <= kAsExact * best->error;
    if (best != nullptr && found->second.seconds > (leans ? kNear : kWorthwhile) * best->seconds) continue;
    best = &found->second;
    result.chosen = tactic;
  }
  if (best == nullptr && !result.records.empty()) result.chosen = kReferenceTactic;
  const auto forced = result.records.find(options_.forced);
  if (!options_.forced.empty() && allows(options_.forced) && forced != result.records.end() &&
      forced->second.quarantine.empty())
    result.chosen = options_.forced;
  results_.push_back(result);
  return result.chosen;
}

}  // namespace vernier

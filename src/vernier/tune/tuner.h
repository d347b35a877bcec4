// Chooses among the tactics of requests: verified first, then timed; what was tried before comes from a
// cache.
#pragma once

#include <set>

#include "vernier/tune/timing_cache.h"
#include "vernier/tune/trial.h"

namespace vernier {

struct TuneOptions {
  // 0: the backend's own choices, nothing is tried. 1: what the timing cache knows. 2: tactics, briefly. 3:
  // tactics, the default. 4: every kernel is verified, also where there is no choice. 5: and timed at length.
  int level = 3;
  bool approximate = true;             // whether tactics may compute another function, within their bound
  std::set<std::string> without = {};  // tactics that must not be used
  std::set<std::string> only = {};     // if not empty, the only ones that may
  std::string forced = {};             // a tactic to take wherever it serves, whatever is faster; "": none
  bool operator==(const TuneOptions&) const = default;
};

// Whose are tactics that are nearly as fast as the backend's own choice: its own, or theirs.
enum class NearTies { kOwnChoice, kOthers };

// What came of one request, for the report.
struct TuneResult {
  std::string request, chosen;
  TimingCache::Records records;
  bool cached = false;
  NearTies near_ties = NearTies::kOwnChoice;
};

class Tuner {
 public:
  // All outlive this. The model's constants have `constant_bytes`.
  Tuner(const KernelSource& kernels, ReferenceOf reference, TimingCache& cache, TuneOptions options,
        size_t constant_bytes = 0);

  // The tactic to use, "" for the backend's own choice. kReferenceTactic where every kernel was found wrong.
  std::string choose(const KernelRequest& request, NearTies near_ties = NearTies::kOwnChoice);
  const std::vector<TuneResult>& results() const { return results_; }

 private:
  bool allows(const std::string& tactic) const;
  TimingCache::Records measure(const KernelRequest& request, const std::vector<std::string>& tactics,
                               NearTies near_ties);
  std::unique_ptr<Kernel> make(const KernelRequest& request, NearTies near_ties);

  const KernelSource& kernels_;
  ReferenceOf reference_;
  TimingCache& cache_;
  TuneOptions options_;
  size_t other_bytes_;             // that a run of the model reads beside the constants of a node
  std::vector<std::byte> others_;  // to be read instead
  std::vector<TuneResult> results_;
};

}  // namespace vernier

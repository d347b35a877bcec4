// Chooses among the tactics of requests: verified first, on the weights that they will run with, then timed.
// Earlier trials come from a cache: times of equal requests, verdicts of equal requests with equal
// weights.
#pragma once

#include <set>

#include "vernier/tune/candidates.h"
#include "vernier/tune/request_key.h"

namespace vernier {

struct TuneOptions {
  // 0: the backend's own choices, nothing is tried. 1: what the timing cache knows. 2: tactics, briefly. 3:
  // tactics, the default. 4: every kernel is verified, also where there is no choice. 5: and timed at length.
  int level = 3;
  bool approximate = true;             // whether tactics may compute another function, within their bound
  std::set<std::string> without = {};  // tactics that must not be used
  std::set<std::string> only = {};     // if not empty, the only ones that may
  std::string forced = {};             // a tactic to take wherever it serves, whatever is faster; "": none
  // Whether candidates are made, verified and timed in child processes: one that crashes, hangs or finds no
  // memory goes into quarantine then, and does not end the build. Kernels of devices with memory of their own
  // are tried in this process all the same.
  bool isolate = false;
  // How long one step of such a trial, such as making a kernel or running it once, may take before it counts
  // as hanging; or twenty times what the reference takes, where that is longer.
  double step_seconds = 10;
  bool operator==(const TuneOptions&) const = default;
};

// Whose are tactics that are nearly as fast as the backend's own choice: its own, or theirs.
enum class NearTies { kOwnChoice, kOthers };

// Holds what is known of one tactic for one request.
struct TacticRecord {
  double seconds = 0;      // the shortest run; 0 where it was not timed
  double error = 0;        // relative L2 distance from the reference
  std::string quarantine;  // why it must not be used; "" for nothing
};

// Holds the result of one request, for the report.
struct TuneResult {
  // By the tactic's name; "" is the backend's own choice.
  using Records = std::map<std::string, TacticRecord>;

  std::string request, chosen;
  std::set<std::string> nodes = {};  // of ONNX
  uint64_t content = kAnyContent;    // hash of the constants, see RequestContent
  Records records;
  bool cached = false;  // nothing was run for it
  NearTies near_ties = NearTies::kOwnChoice;
};

class Tuner {
 public:
  // All outlive this. The model's constants have `constant_bytes`. In the cache, whose device is the host,
  // requests of another device bear its name.
  Tuner(const Backend& kernels, TimingCache& cache, TuneOptions options, size_t constant_bytes = 0,
        std::string device = {});

  // Whether a tactic is to be taken, all else being well with it.
  using Admits = std::function<bool(const std::string& tactic)>;
  // The tactic to use, "" for the backend's own choice. kReferenceTactic where every kernel was found wrong.
  // Where `admits` takes none of the sound ones, it is not asked.
  std::string choose(const KernelRequest& request, NearTies near_ties = NearTies::kOwnChoice,
                     const Admits& admits = nullptr);
  const std::vector<TuneResult>& results() const { return results_; }

 private:
  bool allows(const std::string& tactic) const;
  void examine(const KernelRequest& request, NearTies near_ties, const std::vector<std::string>& tactics,
               TacticFindings& findings);
  void examine_isolated(Candidates& candidates, NearTies near_ties, const std::vector<std::string>& tactics,
                        const TimingOptions& how, TacticFindings& findings);
  void choose_members(const KernelRequest& group, NearTies near_ties);
  // Finds the fastest of the allowed `tactics`, in their order.
  std::string fastest(const std::vector<std::string>& tactics, const TuneResult& result) const;
  std::unique_ptr<Kernel> make(const KernelRequest& request, NearTies near_ties, std::string& reason);

  const Backend& kernels_;
  TimingCache& cache_;
  TuneOptions options_;
  std::string device_;
  RequestContent content_;
  size_t other_bytes_;             // that a run of the model reads beside the constants of a node
  std::vector<std::byte> others_;  // to be read instead
  std::vector<TuneResult> results_;
  bool in_child_ = false;        // this is the copy of a tuner in a child process
  bool members_chosen_ = false;  // the tactics of all nodes of the group that is tried there are known
};

}  // namespace vernier

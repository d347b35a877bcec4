// The main job: every runner on the same inputs, a sample at a time, each judged against one of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/exec/runner.h"

namespace vernier {

// Class labels of each row of an output of logits or probabilities, over all samples in order.
struct Labels {
  std::string output;  // empty: the first output
  std::vector<int64_t> classes;
};

struct Accuracy {
  std::string runner;
  int64_t right = 0, rows = 0;
};

// Takes the outputs that the tolerance of their type accepts, and by how much they err (relative L2, by
// name), and gives the bounds of those that no rounding explains.
using ExceededBounds = std::function<std::map<std::string, DerivedBound>(
    Runner& runner, const NamedData& inputs, const std::map<std::string, double>& needs)>;

struct ComparisonJob {
  std::vector<Runner*> runners;
  size_t against = 0;             // index of the runner that the others are compared with
  std::set<size_t> references;    // runners that may hold double where the model declares another type
  std::vector<std::string> taps;  // inner values to be shown, in execution order; empty: outputs only
  CompareOptions compare;
  // Runner `against` runs this model, which tells which values are random, and which decisions were ties.
  // Null: neither is known, and such differences fail. Outlives the job.
  const Model* model = nullptr;
  std::optional<Labels> labels;
  // How often runner `against` may run again with rounding noise where a comparison fails. A near tie that
  // decides an order turns over in some of the runs only. Of values of few elements, which tell less of how
  // far noise reaches, up to eight times as often.
  uint64_t noise_runs = 4;
  // Bounds what the roundings that a runner promises may make of its outputs, and of these inner values, by
  // name; asked where a comparison fails for want of a tolerance. Not set: nothing is known of them.
  std::function<std::map<std::string, DerivedBound>(Runner& runner, const NamedData& inputs,
                                                    const std::set<std::string>& inner_values)>
      derive_bounds;
  // Such outputs fail. Not set: the tolerance is enough.
  ExceededBounds exceeded_bounds;
  uint64_t seed = 1;
  // Called with every trace, e.g. to record it.
  std::function<void(size_t runner, const NamedData& inputs, const Trace& trace)> observe;
  std::function<void(size_t sample, const std::string& stage)> progress;
};

struct ComparisonOutcome {
  std::vector<ComparisonResult>
      comparisons;                     // one per runner other than `against`; with expected outputs one
                                       // more, of runner `against`, in which they are the reference
  std::vector<Accuracy> accuracies;    // with labels: one per runner
  std::vector<std::string> failures;   // "onnxruntime, sample 3: …": runs that ended in an error
  std::vector<std::string> samples;    // where each came from
  std::vector<std::string> notes;      // on samples that differ from what the model declares
  std::vector<std::string> withdrawn;  // samples of automatic sizes that the model refuses, with its reason;
                                       // others took their place
  std::map<std::string, std::string> drawn;  // of random inputs: from which values, and why
  std::map<std::string, double>
      noise;  // relative L2 of the outputs under rounding noise, where it was measured
};

// Runs until the data end. Errors of a runner become failures of its comparison; errors of the data are
// thrown, as is an error of runner `against` on the first sample, since nothing can be judged then.
ComparisonOutcome run_and_compare(const ComparisonJob& job, DataSource& data);

// Judging recorded runs without running anything.

// A recorded run: how many samples it has, and each of them.
struct RecordedRun {
  std::string name;
  size_t samples = 0;
  std::function<Trace(size_t)> trace;
};

// Every run against the first, sample by sample; a sample that one side lacks is a failure.
std::vector<ComparisonResult> judge_recorded(const std::vector<RecordedRun>& runs, size_t against,
                                             const CompareOptions& options);

}  // namespace vernier

// Concludes from the scores of runners, with the statistics that hold it up.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/compare/verdict.h"
#include "vernier/evaluate/evaluation.h"
#include "vernier/evaluate/statistics/gate.h"

namespace vernier {

struct EvaluationOutcome {
  struct Metric {
    std::string name, unit, kind, description;
    bool higher_is_better = true;
    std::string intervals, test;  // which statistics were taken
  };
  struct Value {
    size_t metric = 0;
    double value = 0;
    ConfidenceInterval ci95;
    size_t rows = 0;
  };
  struct RunnerValues {
    std::string name;
    std::vector<Value> values;
    size_t failures = 0;  // samples on which it failed
    std::string failure;  // the first of them
  };
  // A row that two runners decide differently, or score differently.
  struct Change {
    size_t sample = 0, row = 0;
    std::string origin;
    double baseline = 0, runner = 0;  // what each scored
    double lost = 0;                  // margin, where there is one, else score
  };
  struct Gate {
    double limit = 0;
    GateEvidence evidence;
    double p_adjusted = 1;
    Verdict verdict = Verdict::kMistrusted;
    std::string sentence;
  };
  struct Difference {
    std::string runner, baseline;
    size_t metric = 0;
    double difference = 0;  // value of the runner less that of the baseline
    ConfidenceInterval ci95;
    double p = 1, p_adjusted = 1;  // of runners that are equally good
    size_t lost = 0, gained = 0;   // rows, of hits; else rows that score lower and higher
    std::vector<Change> changes;   // the largest loss first
    std::optional<Gate> gate;
  };

  std::vector<Metric> metrics;
  std::vector<RunnerValues> runners;
  std::vector<Difference> differences;
  size_t samples = 0;
  uint64_t inputs_hash = 0;  // of the content of all samples
  std::vector<std::string> notes;

  bool is_judged() const;
  // The worst of all gates, where there are some; a runner that failed on a sample fails.
  Verdict verdict() const;
};

// Judges all samples, which `whole` holds. The same scores give the same outcome, to the bit. Throws
// bad_input for rows that are none of the metrics.
EvaluationOutcome conclude(const EvaluationPart& whole, const std::vector<TaskMetric*>& metrics);

}  // namespace vernier

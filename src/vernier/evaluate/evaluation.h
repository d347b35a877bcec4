// Runners on the same labelled samples: what each scores, row by row.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/data/labelled/labelled_source.h"
#include "vernier/evaluate/shard.h"
#include "vernier/evaluate/task_metric.h"
#include "vernier/exec/runner.h"

namespace vernier {

// Says what was evaluated. Partial results belong together where all of it agrees.
struct EvaluationSubject {
  std::string model, model_hash;               // name, content
  std::map<std::string, std::string> options;  // as they are in force, but for the shard
  std::string build;                           // version of Vernier
  std::string data_format;
  uint64_t data_hash = 0;  // of the list of samples and labels
  struct RunnerName {
    std::string name;
    std::map<std::string, std::string> description;
    bool operator==(const RunnerName&) const = default;
  };
  std::vector<RunnerName> runners;
  size_t against = 0;  // index of the runner that the others are compared with
  std::vector<MetricOptions> metrics;
  std::vector<std::string> classes;  // their names, where labels have some
  uint64_t seed = 1;
  struct Gate {
    std::string metric;
    double drop = 0;
    bool operator==(const Gate&) const = default;
  };
  std::vector<Gate> gates;  // the drop of a metric that no runner may reach
};

struct SampleScores {
  size_t index = 0;
  std::string origin;                 // where the sample came from
  uint64_t inputs_hash = 0;           // names, types, sizes and bits
  std::vector<std::string> failures;  // by runner; "" for one that ran
  // By metric and runner; no rows where the runner failed.
  std::vector<std::vector<RowScores>> scores;
};

// A shard, or a run over all samples, yields this.
struct EvaluationPart {
  EvaluationSubject subject;
  Shard shard;
  size_t samples = 0;  // of all shards
  std::map<std::string, std::string> environment;
  std::vector<SampleScores> scores;  // of this shard
};

struct EvaluationJob {
  std::vector<Runner*> runners;
  size_t against = 0;
  std::vector<TaskMetric*> metrics;
  Shard shard;
  std::function<void(size_t sample, const std::string& runner)> progress = [](size_t, const std::string&) {};
};

// Runs one sample after the other, each with all runners, and keeps the scores alone. A runner that fails is
// noted; of the one that others are compared with the error is thrown, as are those of the data. Sets samples
// and scores of the part.
void run_evaluation(const EvaluationJob& job, LabelledSource& data, EvaluationPart& part);

}  // namespace vernier

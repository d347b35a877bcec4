// The options of `evaluate` that are not about runners.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "vernier/cli/options/page_options.h"
#include "vernier/data/labelled/labelled_source.h"
#include "vernier/evaluate/evaluation.h"

namespace vernier {

// Where `evaluate` and `merge` write.
struct EvaluationFiles {
  std::string scores;
  PageOptions page;

  void declare(CLI::App& app);
};

struct EvaluateVerbOptions {
  std::vector<std::string> models;
  std::string labels, classes, labels_output, against, shard;
  std::vector<std::string> data, shapes, metrics, drops;
  std::string preprocess = kDefaultPreprocess, labels_preprocess;
  double threshold = 0.5, match_iou = 0.5;
  int64_t batch = 1;
  EvaluationFiles files;

  void declare(CLI::App& app);
  // `outputs` of the model.
  std::vector<MetricOptions> metric_options(const std::vector<std::string>& outputs) const;
  // Throws usage_error for drops of metrics that are none, or of none of these.
  std::vector<EvaluationSubject::Gate> gates() const;
  LabelledDataOptions labelled_data(const std::vector<MetricOptions>& metrics) const;
  // As they are in force, but for the shard, which says nothing about the result.
  std::map<std::string, std::string> effective() const;
};

}  // namespace vernier

// Where the samples of a command come from: `run` and `diagnose` alike.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/data/preprocess.h"
#include "vernier/ir/graph.h"

namespace vernier {

struct DataOptions {
  std::vector<std::string> files, shapes, val_range;
  size_t samples = 1;
  std::string preprocess = kDefaultPreprocess;

  void declare(CLI::App& app);
  bool is_random() const { return files.empty(); }
  // `model` outlives what this gives.
  std::unique_ptr<DataSource> open(const Model& model, uint64_t seed) const;
  // As they are in force, for the report.
  void add_effective(std::map<std::string, std::string>& options) const;
};

// These options say what is compared, and how: options of `run`, `diagnose` and `reduce` alike.
struct ComparisonOptions {
  DataOptions data;
  std::vector<std::string> atol, rtol, constant_values;

  void declare(CLI::App& app);
  // Throws usage_error for tolerances that cannot be read.
  CompareOptions compare() const;
};

}  // namespace vernier

// The options of `run` that are not about runners.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "vernier/data/preprocess.h"

namespace vernier {

struct RunOptions {
  std::vector<std::string> models;
  std::string against;
  bool layers = false;
  std::vector<std::string> data, shapes, val_range, atol, rtol, constant_values;
  size_t samples = 1;
  std::string labels, labels_output;
  std::string preprocess = kDefaultPreprocess;

  void declare(CLI::App& app);
  // As they are in force, for the report.
  std::map<std::string, std::string> effective() const;
};

}  // namespace vernier

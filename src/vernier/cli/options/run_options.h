// The options of `run` that are not about runners.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "vernier/cli/options/data_options.h"
#include "vernier/cli/options/page_options.h"

namespace vernier {

struct RunVerbOptions {
  std::vector<std::string> models;
  std::string against;
  bool layers = false;
  ComparisonOptions comparison;
  std::string labels, labels_output;
  PageOptions page;

  void declare(CLI::App& app);
  // As they are in force, for the report.
  std::map<std::string, std::string> effective() const;
};

}  // namespace vernier

// What is compared, and how: options of `run`, `diagnose` and `reduce` alike.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "vernier/cli/options/data_options.h"
#include "vernier/compare/compare.h"

namespace vernier {

struct ComparisonOptions {
  DataOptions data;
  std::vector<std::string> atol, rtol, constant_values;

  void declare(CLI::App& app);
  // Throws usage_error for tolerances that cannot be read.
  CompareOptions compare() const;
};

}  // namespace vernier

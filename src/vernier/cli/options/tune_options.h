// The options of `tune`.
#pragma once

#include "vernier/cli/options/build_options.h"
#include "vernier/cli/options/data_options.h"
#include "vernier/cli/options/page_options.h"
#include "vernier/search/target.h"

namespace vernier {

struct TuneVerbOptions {
  std::string model, output, state;
  BuildArguments build;
  DataOptions data;
  std::optional<double> tolerance;
  std::vector<std::string> atol, rtol;
  std::string metric, labels, labels_output;
  double max_loss = 0.1;
  std::vector<std::string> types;
  double held_out = 0.5, budget = 300, duration = 3;

  PageOptions page;

  void declare(CLI::App& app);
  // Throws usage_error where no target is given, or several are.
  TuneTarget target() const;
  // Gives the types that nodes may be computed in, beside those that the model declares. `ranges`: int8 has
  // some.
  std::vector<ElementType> element_types(bool ranges) const;
  // Gives an option of the engine, as --calibration; "" where it is not given.
  std::string runner_option(const std::string& name) const;
  // As they are in force, for the report.
  std::map<std::string, std::string> effective() const;
};

}  // namespace vernier

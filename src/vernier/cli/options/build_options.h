// The options that say how an engine is built, shared by `build` and `bench`.
#pragma once

#include <CLI/CLI.hpp>

#include "vernier/engine/engine.h"

namespace vernier {

struct BuildArguments {
  std::vector<std::string> min_shapes, opt_shapes, max_shapes;
  std::vector<std::string> disabled_passes, forbidden, tactics;
  std::string timing_cache, workspace;
  int level = 3;

  void declare(CLI::App& app);
  // Throws usage_error for what does not fit together, bad_input for what does not fit the model.
  BuildOptions options(const Model& model) const;
  // Keeps what the build timed for the next, if --timing-cache says where.
  void save_timings(const BuildOptions& options) const;
  // Throws usage_error for what a refit takes from the engine.
  void require_none_for_refit() const;
  // As they are in force, for the report and the engine file.
  std::map<std::string, std::string> effective() const;
};

}  // namespace vernier

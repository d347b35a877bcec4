// Long work shows its progress on standard error.
#pragma once

#include <optional>
#include <string>

#include "vernier/cli/verb.h"

namespace vernier {

// A bar on a terminal, and events for whoever asked for them; elsewhere one line per stage, if -v asks for
// it; nothing with --quiet.
class Progress {
 public:
  // `steps` stages will come, if that is known.
  Progress(const CommonOptions& common, std::optional<size_t> steps);
  // Wipes the bar away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // A stage begins: "sample 3: onnxruntime".
  void stage(const std::string& name);

 private:
  bool bar_, lines_;
  std::optional<size_t> steps_;
  size_t step_ = 0;  // stages that have begun
};

}  // namespace vernier

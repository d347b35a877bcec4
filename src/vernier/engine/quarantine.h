// Tactics that an engine does not use because their trial found them wrong, or did not end well.
#pragma once

#include "vernier/engine/engine.h"

namespace vernier {

struct QuarantinedTactic {
  std::string tactic;           // "": the backend's own choice
  std::string request;          // what it was to compute, as a timing cache calls it
  std::set<std::string> nodes;  // of ONNX
  std::string reason;

  // "winograd for 'conv_1', 'conv_2': crashed: signal 11 (Segmentation fault), in its trial"
  std::string text() const;
};

// As the engine was tuned; of a loaded engine none. Each tactic of a request once.
std::vector<QuarantinedTactic> quarantined_tactics(const Engine& engine);

}  // namespace vernier

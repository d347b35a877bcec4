// An engine that is finished when the first data come: it is tuned for their sizes. Runners that must run the
// same engine share one.
#pragma once

#include "vernier/engine/builder.h"

namespace vernier {

class EngineOnDemand {
 public:
  // `model` outlives this. Throws as Builder does.
  EngineOnDemand(const Model& model, BuildOptions options);
  // One that is built, or loaded, already.
  explicit EngineOnDemand(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  // As far as it is built: graph and types are there.
  const std::shared_ptr<Engine>& engine() const { return engine_; }
  // Built, for these data if they are the first. It is judged only if it approximates: whoever runs it on
  // data compares what comes of it. Throws as Builder::build does.
  const std::shared_ptr<Engine>& engine_for(const NamedData& inputs);

 private:
  std::optional<Builder> builder_;  // until it is built
  std::shared_ptr<Engine> engine_;
};

}  // namespace vernier

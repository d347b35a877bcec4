// An engine that is finished when the first data come: it is tuned for their sizes. Runners that must run the
// same engine share one.
#pragma once

#include <functional>

#include "vernier/engine/engine.h"

namespace vernier {

class EngineOnDemand {
 public:
  // The engine, built for these data.
  using Finish = std::function<std::shared_ptr<const Engine>(const NamedData& inputs)>;

  // One that `finish` builds, called once, with what it is built to so far; see build_on_demand (builder.h).
  EngineOnDemand(std::shared_ptr<const Engine> begun, Finish finish)
      : engine_(std::move(begun)), finish_(std::move(finish)) {}
  // One that is built, or loaded, already.
  explicit EngineOnDemand(std::shared_ptr<const Engine> engine) : engine_(std::move(engine)) {}

  // As far as it is built: graph and types are there.
  const std::shared_ptr<const Engine>& engine() const { return engine_; }
  // Built, for these data if they are the first. Throws what `finish` throws, and can then be called again.
  const std::shared_ptr<const Engine>& engine_for(const NamedData& inputs) {
    if (finish_) {
      engine_ = finish_(inputs);
      finish_ = nullptr;
    }
    return engine_;
  }

 private:
  std::shared_ptr<const Engine> engine_;
  Finish finish_;  // until it is built
};

}  // namespace vernier

#pragma once

#include "vernier/engine/engine.h"
#include "vernier/vernier.h"

namespace vernier::api {

struct EngineState {
  std::shared_ptr<Engine> engine;
  std::vector<v1::TensorInfo> inputs, outputs;
};

std::shared_ptr<const EngineState> describe(std::shared_ptr<Engine> engine);

}  // namespace vernier::api

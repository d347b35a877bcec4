#include "vernier/api/engine_state.h"

namespace vernier::api {

namespace {

v1::TensorInfo info_of(const Value& value) {
  v1::TensorInfo info;
  info.name = value.name;
  info.has_default = value.is_constant();
  info.is_tensor = value.type.is_tensor();
  if (!info.is_tensor) return info;
  info.type = static_cast<v1::ElementType>(value.type.tensor.element);
  info.has_rank = value.type.tensor.shape.has_value();
  if (!info.has_rank) return info;
  for (const Dim& dim : *value.type.tensor.shape) {
    if (const auto size = dim.constant())
      info.shape.push_back({*size, {}});
    else
      info.shape.push_back({-1, dim.text()});
  }
  return info;
}

}  // namespace

std::shared_ptr<const EngineState> describe(std::shared_ptr<const Engine> engine, v1::BuildReport report) {
  auto state = std::make_shared<EngineState>();
  for (const Value* input : engine->graph().inputs) state->inputs.push_back(info_of(*input));
  for (const Value* output : engine->graph().outputs) state->outputs.push_back(info_of(*output));
  state->engine = std::move(engine);
  state->report = std::move(report);
  return state;
}

}  // namespace vernier::api

#include "vernier/engine/engine_on_demand.h"

namespace vernier {

EngineOnDemand::EngineOnDemand(const Model& model, BuildOptions options)
    : builder_(std::in_place, model, std::move(options)), engine_(builder_->engine()) {}

const std::shared_ptr<Engine>& EngineOnDemand::engine_for(const NamedData& inputs) {
  if (!builder_) return engine_;
  BuiltEngine built = builder_->build({{"the first sample", inputs, {}, {}}}, Judge::kApproximations);
  engine_ = std::move(built.engine);
  builder_.reset();
  return engine_;
}

}  // namespace vernier

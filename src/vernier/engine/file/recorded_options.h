// The options of a build that hold for an engine ever after: for sizes that come later, and for a refit.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "vernier/engine/engine.h"

namespace vernier {

class JsonValue;

nlohmann::ordered_json recorded_json(const BuildOptions& options);
// `precision` is the plan of the engine, which stands for the options that made it. Throws bad_input.
BuildOptions recorded_options(const JsonValue& json, const PrecisionPlan& precision);

// A hash of what a model computes, names included, whatever its weights are: what a refit must not change.
// Contents that shapes and indices are made of count.
uint64_t model_structure(const Graph& graph);
// Throws bad_input, naming nodes where it can, unless the structure of the model is this.
void require_structure(const Graph& graph, uint64_t structure, const std::set<std::string>& nodes);

}  // namespace vernier

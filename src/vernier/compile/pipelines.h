// The passes of a build, in order; a pipeline is a value (`vernier build --dump-pipeline` prints it).
#pragma once

#include <set>
#include <string>

#include "vernier/passes/pass.h"

namespace vernier {

// Once for a model, at all sizes: what puts products of integers into groups, while weights still are
// integers; what simplifies the model, before types are chosen; and what follows on the typed graph.
std::vector<Pass> integer_pipeline();
std::vector<Pass> model_pipeline();
std::vector<Pass> typed_pipeline();

// All passes that a build can run, those of plans (engine/plan_pipeline.h) with them.
std::set<std::string> pass_names();

}  // namespace vernier

// Splits the distance between what a model means and what an engine makes of it.
#pragma once

#include "vernier/diagnose/bounds/propagated_error.h"
#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/under_test/engine_under_test.h"

namespace vernier {

// By output, in the order of the model; outputs that are no floats are left out. `sound`: whether every node
// makes what a sound kernel would on what it reads. `limits`: what propagating roundings may take.
std::vector<ErrorSplit> split_error(const Model& model, const EngineUnderTest& tested, const ShownRun& shown,
                                    const NamedData& inputs, const NamedData& outputs, bool sound,
                                    uint64_t seed, const PropagationOptions& limits = {});

// Whether roundings explain all of it.
bool within_bounds(const std::vector<ErrorSplit>& split);
// Whether the engine, not its plan, is off so far that no rounding makes it, whatever tolerance accepts it.
bool is_beyond_rounding(const std::vector<ErrorSplit>& split);
// Whether they would explain anything: then nothing is proven.
bool explains_everything(const std::vector<ErrorSplit>& split);
// Whether they explain how far the engine's outputs are from those of another one, whatever tolerance accepts
// them.
bool within_bounds(const std::vector<ErrorSplit>& split, const NamedData& other, const NamedData& outputs);

}  // namespace vernier

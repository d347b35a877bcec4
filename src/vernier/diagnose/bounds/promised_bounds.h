#pragma once

#include "vernier/run/comparison_run.h"

namespace vernier {

// What the roundings that an engine of ours promises may make of its outputs on these inputs, by output.
// Nothing of other runners, which promise nothing.
std::map<std::string, DerivedBound> promised_bounds(Runner& runner, const NamedData& inputs, uint64_t seed);

// Of outputs of a runner that err by so much (relative L2 from the declared model): the bounds of those that
// are far beyond them. An engine of ours has the roundings that it promises, any other those that the types
// of the model are reason for. What an engine of ours quantises is not judged, for that is no rounding. The
// model outlives it.
ExceededBounds exceeded_bounds(const Model& model, uint64_t seed);

}  // namespace vernier

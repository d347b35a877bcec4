#pragma once

#include "vernier/compare/compare.h"
#include "vernier/exec/runner.h"

namespace vernier {

// What the roundings that an engine of ours promises may make of its outputs on these inputs, by output.
// Nothing of other runners, which promise nothing.
std::map<std::string, DerivedBound> promised_bounds(Runner& runner, const NamedData& inputs, uint64_t seed);

}  // namespace vernier

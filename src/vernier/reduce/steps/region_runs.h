// Records what the regions of a node run on. Internal to the room.
#pragma once

#include "vernier/reduce/repro_case.h"

namespace vernier {

// A region as a model of its own, on what one of its runs reads.
struct RegionRun {
  std::string region;  // "then_branch", "body"
  ReproCase alone;     // outputs as the region has them
};

// Runs of the regions of If, Loop and Scan, in their order, at most so many; `known` has the values around
// the node. Empty for other nodes, for the batches of Scan before opset 9, and where a run reads what is no
// tensor. Throws what the reference throws.
std::vector<RegionRun> region_runs(const Node& node, const Model& model, const NamedData& known, size_t most);

// The same model without outputs that no node of it makes, and with each once; nothing if none is left.
std::optional<ReproCase> with_own_outputs(const ReproCase& alone);

}  // namespace vernier

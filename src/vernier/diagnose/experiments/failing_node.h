// An engine that does not run: the node with which it begins to fail.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/repairs/repair_builder.h"
#include "vernier/diagnose/under_test/engine_under_test.h"
#include "vernier/diagnose/under_test/watched_runner.h"

namespace vernier {

struct FailingNode {
  std::optional<RootCause> root_cause;
  std::vector<std::string> notes;  // why there is none, or what else was learnt
};

// Searches the first nodes of the model, as models of their own, for the shortest that fails: a binary
// search. `failure` is what the engine said of the whole model.
FailingNode find_failing_node(EngineUnderTest& tested, const Model& model, const NamedData& inputs,
                              const std::string& failure, Stopwatch& watch);

// Nodes as models of their own, fed with what the reference made: what is left where an engine shows nothing.
struct LoneNodes {
  std::vector<FlaggedNode> flagged_nodes;  // nodes that are wrong by themselves
  size_t right = 0;                        // nodes that are not
  size_t refused = 0;                      // that the engine does not run
  bool is_whole = true;                    // else the time was over before the last
};

// Runs each node of a flagged group. The nodes of the flagged nodes are those of the group.
LoneNodes run_alone(EngineUnderTest& tested, const Model& model, const FlaggedNode& group, Stopwatch& watch);

// An engine that refuses the model: whether its optimiser has made it what it refuses.

// Runs the engine without its optimisations, where it has that option. If it runs then, this is the cause
// (B31), and leaving them out the repair: `root cause`, which may be nothing, becomes that. `right` are the
// outputs that it should have; null if nobody knows.
void blame_optimiser(RepairBuilder& repair_builder, const WatchedRunner::Failure& failure,
                     const NamedData* right, std::optional<RootCause>& root_cause, Stopwatch& watch);

}  // namespace vernier

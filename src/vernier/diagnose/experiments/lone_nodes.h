// Nodes as models of their own, fed with what the reference made: what is left where an engine shows nothing.
#pragma once

#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/experiments/suspect.h"
#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

struct LoneNodes {
  std::vector<Suspect> suspects;  // nodes that are wrong by themselves
  size_t right = 0;               // nodes that are not
  size_t refused = 0;             // that the engine does not run
  bool is_whole = true;           // else the time was over before the last
};

// Runs each node of a suspected group. The nodes of the suspects are those of the group.
LoneNodes run_alone(Subject& subject, const Model& model, const Suspect& group, Stopwatch& watch);

}  // namespace vernier

// An engine that does not run: the node with which it begins to fail.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

struct FailingNode {
  std::optional<Culprit> culprit;
  std::vector<std::string> notes;  // why there is none, or what else was learnt
};

// Searches the first nodes of the model, as models of their own, for the shortest that fails: a binary
// search. `failure` is what the engine said of the whole model.
FailingNode find_failing_node(Subject& subject, const Model& model, const NamedData& inputs,
                              const std::string& failure, Stopwatch& watch);

}  // namespace vernier

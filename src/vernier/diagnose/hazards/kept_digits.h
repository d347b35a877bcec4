// B14, and one of the lies of B16: an engine keeps digits between nodes that the types of the model drop.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/exec/runner.h"
#include "vernier/ir/graph.h"

namespace vernier {

// A shortest stretch of nodes, in execution order, that explains what an engine made: without the roundings
// between them the reference makes the same.
struct KeptDigits {
  std::vector<const Node*> nodes;
  double residual = 0;  // of the difference from the model as declared
  double error = 0;     // that difference, in units of bounded_distance()
};

// Nothing where roundings that are left out do not make what the engine made.
std::optional<KeptDigits> kept_digits(const Model& model, const NamedData& inputs, const NamedData& outputs,
                                      Stopwatch& watch);

// A Cast that is not executed, as a root cause: digits are kept over a few nodes with a Cast among them. An
// engine that keeps them everywhere only computes better than it has to.
std::vector<RootCause> dropped_casts(const Model& model, const NamedData& inputs, const NamedData& outputs,
                                     Stopwatch& watch);

// The nodes, with the evidence; the class is for the caller to say.
RootCause root_cause_of(const KeptDigits& kept);

}  // namespace vernier

// Faults outside of the graph: what an engine makes of the same inputs at another time, after another start,
// or at another place in the batch.
#pragma once

#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/repeats/repeatability.h"

namespace vernier {

// Holds what is known when they are looked for.
struct RuntimeContext {
  const Model& model;
  EngineUnderTest& tested;
  const NamedData& inputs;   // of the sample that is looked into
  const NamedData& other;    // of the same sizes
  const NamedData& outputs;  // that the engine made of the inputs first of all
  const Repeatability& repeatability;
  const SameInputCheck& check;  // of the engine as it is
  bool fails = true;            // the outputs are not accepted
};

// The root causes, first of all, or in place of those of `root causes` that say less of the same nodes.
void find_runtime_faults(const RuntimeContext& context, std::vector<RootCause>& root_causes,
                         Stopwatch& watch);

// Describes an engine that ran on its inputs once, and with this message fails to do so again.
RootCause not_run_again(const NamedData& outputs, const std::string& message);

// Names what answers that change between equal runs tell: a race, memory that nobody wrote, or what a run has
// left.
RootCause root_cause_at(int failure, std::vector<std::string> nodes, std::vector<std::string> values,
                        const std::string& sentence, const Evidence& evidence);

// Whether all outputs of the one are those of the other, bit by bit.
bool same(const NamedData& a, const NamedData& b);

// Tells of an engine whose answer depends on the run before whether it has read a part of an input too early.
std::optional<RootCause> find_late_input(const RuntimeContext& context, Stopwatch& watch);

// Looks at an engine that is not repeatable.
std::optional<RootCause> find_changing_runs(const RuntimeContext& context, Stopwatch& watch);

}  // namespace vernier

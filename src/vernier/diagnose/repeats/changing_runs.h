// What answers that change between equal runs tell: a race, memory that nobody wrote, or what a run has left.
#pragma once

#include "vernier/diagnose/repeats/runtime_faults.h"

namespace vernier {

Culprit culprit_at(int failure, std::vector<std::string> nodes, std::vector<std::string> values,
                   const std::string& sentence, const Evidence& evidence);

// Whether all outputs of the one are those of the other, bit by bit.
bool same(const NamedData& a, const NamedData& b);

// Of an engine whose answer depends on the run before: whether it has read a part of an input too early.
std::optional<Culprit> find_late_input(const RuntimeScene& scene, Stopwatch& watch);

// Of an engine that is not repeatable.
std::optional<Culprit> find_changing_runs(const RuntimeScene& scene, Stopwatch& watch);

}  // namespace vernier

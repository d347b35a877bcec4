// Loops feed back what they round. What they make of that no error model tells, so it is measured.
#pragma once

#include "vernier/diagnose/experiments/suspect.h"
#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

// Runs the reference with its roundings moved inside the nodes with bodies among the suspects, on what the
// engine read there, and allows each of them the error that this makes of its results. Those that stay beyond
// so many bounds are suspects still; others are removed, and returned. `given` are the inputs of the run.
std::vector<const Node*> excuse_feedback(const ShownRun& shown, const NamedData& given, double beyond,
                                         std::vector<Suspect>& suspects);

}  // namespace vernier

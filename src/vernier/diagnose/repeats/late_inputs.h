#pragma once

#include "vernier/diagnose/subjects/subject.h"

namespace vernier {

// The inputs of the model that are not what they should be when they are read: every node of which the
// results differ first, between runs on the same inputs, reads one of them, and whoever reads it differs.
// Empty where that is not so.
std::vector<std::string> late_inputs(const std::vector<ShownRun>& runs, const NamedData& inputs);

}  // namespace vernier

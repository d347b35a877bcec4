// What the parts of a model take of a run.
#pragma once

#include "vernier/bench/profile.h"

namespace vernier {

// Milliseconds by unit: of the steps that compute their nodes; what several units share counts to each of
// them in equal parts. `owners` gives the unit of an ONNX node (UnitPlans::owners). Steps of no node, which
// change layouts, count to nobody.
std::vector<double> unit_times(const Profile& profile, const std::map<std::string, size_t>& owners,
                               size_t units);

}  // namespace vernier

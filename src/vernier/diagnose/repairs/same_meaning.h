#pragma once

#include <string>
#include <vector>

#include "vernier/data/data_source.h"
#include "vernier/ir/graph.h"

namespace vernier {

// How far the outputs of a rewritten model are from those of the model, in relative L2, on the sample where
// they are farthest: by the reference that never rounds or by the one that rounds as the models declare,
// whichever is nearer, since a rewrite may write out a rounding, or take one away. Outputs beyond those of
// the model do not count. Infinite where one is missing or has other sizes, or NaN or Inf that the other has
// not. Throws what the reference throws.
double distance_in_meaning(const Model& model, const Model& rewritten, const std::vector<Sample>& samples);

}  // namespace vernier

// Whether agreement proves anything.
#pragma once

#include <string>

#include "vernier/compare/sums.h"

namespace vernier {

// Why a comparison of at least one element that found no fault could not have found one; empty if it could.
// `may_be_constant`: the user vouches that the value is constant by nature.
std::string lack_of_evidence(const Sums& sums, const Tolerance& tolerance, bool may_be_constant);

}  // namespace vernier

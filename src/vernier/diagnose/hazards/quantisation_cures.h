// What could stand in the place of a site that quantises, to see what goes with its error.
#pragma once

#include <map>
#include <set>

#include "vernier/diagnose/hazards/quantisation_sites.h"

namespace vernier {

struct Cure {
  enum class Kind : uint8_t {
    kIdentity,
    kRefit,     // the same integers, with scales that suit the values at hand
    kPerIndex,  // the same, with one scale for each index of an axis
  };
  Kind kind = Kind::kIdentity;
  size_t axis = 0;
};

using Cures = std::map<const Node*, Cure>;  // by QuantizeLinear

// What the reals that come to the site are after it.
Tensor cured(const QuantisationSite& site, const Tensor& reals, const Cure& cure);

}  // namespace vernier

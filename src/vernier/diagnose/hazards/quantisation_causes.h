// What is wrong with the scales of a model, by how they lie to the values that they meet.
#pragma once

#include "vernier/diagnose/hazards/quantisation_sites.h"

namespace vernier {

struct SiteCause {
  FailureClass failure;
  std::string sentence;
};

// A cause that most sites share: calibration on other data (B19), on one batch (B21), of another graph (B22).
// Nothing if most scales fit. `samples`: how many were measured.
std::optional<SiteCause> shared_cause(const std::vector<QuantisationSite>& sites, size_t samples);

// What the scale of a site does that a good one would not; nothing if it is as good as eight bits allow.
std::optional<SiteCause> cause_at(const QuantisationSite& site, const HealedRuns& runs,
                                  const std::vector<QuantisationSite>& sites);

}  // namespace vernier

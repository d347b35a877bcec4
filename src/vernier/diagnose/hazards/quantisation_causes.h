// What is wrong with the scales of a model, by how they lie to the values that they meet.
#pragma once

#include "vernier/diagnose/failure_class.h"
#include "vernier/diagnose/hazards/healed_runs.h"

namespace vernier {

struct SiteCause {
  FailureClass failure;
  std::string sentence;
};

// What the scale of a site does that a good one would not; nothing if it is as good as eight bits allow.
std::optional<SiteCause> cause_at(const QuantisationSite& site, const HealedRuns& runs);

// How the range of a scale differs from that of the values, if it does: that it matters is for others to
// show.
std::optional<SiteCause> cause_of_misfit(const QuantisationSite& site);

// Whether the site holds what a Concat joins, or a Split takes apart.
bool is_of_join(const QuantisationSite& site);

}  // namespace vernier

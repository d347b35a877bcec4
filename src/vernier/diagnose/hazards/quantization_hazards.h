// Scales of a model, or of a plan that quantizes it, that do not suit the values: the engine may be sound,
// and the answers are still far from what the model without quantization says.
#pragma once

#include "vernier/diagnose/diagnosis.h"
#include "vernier/diagnose/experiments/stopwatch.h"
#include "vernier/diagnose/failure_class.h"
#include "vernier/diagnose/hazards/healed_runs.h"
#include "vernier/ir/graph.h"

namespace vernier {

// The sites at fault by their share of the error, which is what goes when a site alone is the identity. What
// eight bits cost a model that is quantized well is no fault. `owner` is whose scales they are, "the model"
// or "the plan". `samples` are those of the diagnosis, in their order.
std::vector<RootCause> quantization_hazards(const Graph& graph, const char* owner,
                                            const std::vector<NamedData>& samples, Stopwatch& watch);

// Says what is wrong with scales, by how they lie to the values that they meet.
struct SiteCause {
  FailureClass failure;
  std::string sentence;
};

// Finds what the scale of a site does that a good one would not; nothing if it is as good as eight bits
// allow.
std::optional<SiteCause> cause_at(const QuantizationSite& site, const HealedRuns& runs);

// How the range of a scale differs from that of the values, if it does: that it matters is for others to
// show.
std::optional<SiteCause> cause_of_misfit(const QuantizationSite& site);

// Whether the site holds what a Concat joins, or a Split takes apart.
bool is_of_join(const QuantizationSite& site);

}  // namespace vernier

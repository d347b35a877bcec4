// Which approximate tactics an engine can keep, when with all of them its outputs are beyond the tolerance.
#pragma once

#include "vernier/compare/tolerance.h"
#include "vernier/data/data_source.h"
#include "vernier/engine/engine.h"

namespace vernier {

// The nodes that an approximate tactic computes at any sizes that were tuned, each counted once.
size_t approximate_nodes(const Engine& engine);

struct KeptTactics {
  std::vector<PlanChoices> choices;  // of each prepared plan: the same without what is given up
  std::vector<TunedSizes> between;   // the same of sizes that were tuned and have no plan
  size_t kept = 0, of = 0;           // nodes
  double slower = 0;                 // seconds of a run that this costs, as timed
};

// Runs each sample with one approximate tactic at a time, and keeps those that together stay within the
// tolerances of what the engine gives without any, and save most time for that. Where no sample has the sizes
// of a plan, or there is no plan for them, what others keep is kept. The same engine, samples and timing
// cache give the same choice.
KeptTactics keep_tactics(const Engine& engine, const std::vector<Sample>& samples,
                         const Tolerances& tolerances);

// The engine again, each of its plans with the choices that are kept.
std::shared_ptr<const Engine> with_kept(const Engine& engine, const KeptTactics& kept);

}  // namespace vernier

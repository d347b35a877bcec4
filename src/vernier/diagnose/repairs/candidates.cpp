#include "vernier/diagnose/repairs/candidate.h"

namespace vernier {

// What a caller does wrong costs nothing to do right, options little, and a few nodes in float not much more;
// a rewritten model is one more file to keep; all nodes in float cost the most.
std::vector<RepairCandidate> repair_candidates(const RepairScene& scene) {
  std::vector<RepairCandidate> candidates;
  correct_caller(scene, candidates);
  run_otherwise(scene, candidates);
  change_options(scene, candidates);
  widen_in_plan(scene, candidates);
  rewrite_model(scene, candidates);
  widen_everything(scene, candidates);
  return candidates;
}

}  // namespace vernier

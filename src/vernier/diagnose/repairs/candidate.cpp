#include "vernier/diagnose/repairs/candidate.h"

#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"

namespace vernier {

// A caller's fault costs nothing to put right, options cost little, and a few nodes in float not much more; a
// rewritten model is one more file to keep; all nodes in float cost the most.
std::vector<RepairCandidate> repair_candidates(const RepairContext& context) {
  std::vector<RepairCandidate> candidates;
  correct_caller(context, candidates);
  run_otherwise(context, candidates);
  change_options(context, candidates);
  widen_in_plan(context, candidates);
  rewrite_model(context, candidates);
  widen_everything(context, candidates);
  return candidates;
}

PrecisionPlan carried_plan(const PrecisionPlan& plan, const Graph& rewritten) {
  PrecisionPlan carried = plan;
  carried.model = hash_to_text(structural_hash(rewritten));
  carried.layers.clear();
  for (const std::string& node : onnx_nodes(rewritten)) {
    std::string source = node;
    while (!plan.layers.contains(source) && source.rfind('~') != std::string::npos)
      source.erase(source.rfind('~'));
    if (const auto found = plan.layers.find(source); found != plan.layers.end())
      carried.layers[node] = found->second;
  }
  return carried;
}

}  // namespace vernier

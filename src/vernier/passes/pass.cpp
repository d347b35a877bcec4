#include "vernier/passes/pass.h"

#include "vernier/ir/verify.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {

std::string_view numerical_class_name(NumericalClass value) {
  switch (value) {
    case NumericalClass::kReassociating: return "reassociating";
    case NumericalClass::kNarrowing: return "narrowing";
    case NumericalClass::kApproximate: return "approximate";
    default: return "exact";
  }
}

std::vector<PassRecord> run_passes(Graph& graph, const std::vector<Pass>& passes,
                                   const PassOptions& options) {
  std::vector<PassRecord> fired;
  for (const Pass& pass : passes) {
    if (options.disabled.contains(pass.name) || options.forbidden.contains(pass.numerics)) continue;
    const int rewrites = pass.run(graph);
    if (rewrites == 0) continue;
    ops::infer_types(graph);
    fired.push_back({pass.name, pass.numerics, rewrites});
  }
  verify(graph);
  return fired;
}

}  // namespace vernier

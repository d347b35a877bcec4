#include "vernier/diagnose/repairs/carried_plan.h"

#include "vernier/base/hash.h"
#include "vernier/ir/hash.h"

namespace vernier {

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

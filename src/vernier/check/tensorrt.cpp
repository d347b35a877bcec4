#include "vernier/check/tensorrt.h"

#include "vernier/check/context.h"
#include "vernier/check/tensorrt_rules.h"

namespace vernier {

std::span<const Rule> tensorrt_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    tensorrt_scale_rules(all);
    tensorrt_placement_rules(all);
    tensorrt_type_rules(all);
    tensorrt_operator_rules(all);
    return all;
  }();
  return rules;
}

std::vector<Finding> check_for_tensorrt(const Model& model) {
  const CheckContext context(model, {});
  std::vector<Finding> findings;
  for (const Rule& rule : tensorrt_rules()) rule.run(context, findings);
  rank(findings);
  return findings;
}

}  // namespace vernier

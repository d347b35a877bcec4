#include "vernier/error_analysis/exact_results.h"

#include <set>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

// A quotient is not: kernels take the product with the reciprocal for it.
bool is_rounded_once(const Node& node) {
  static const std::set<std::string, std::less<>> operations{
      "Add", "Sub", "Mul", "Cast", "ConstantOfShape", "EyeLike", "OneHot"};
  return node.domain.empty() && operations.contains(node.op);
}

}  // namespace

void keep_exact_results(const Node& node, ElementErrors& errors) {
  if (ops::is_group(node) || !is_rounded_once(node) || errors.is_exact()) return;
  const Doubles values(errors.value);
  const RoundingError stored(node.output(0)->type.tensor.element);
  for_each_element(values.size(), [&](size_t i) {
    if (stored.is_exact(values[i])) errors.error[i] = 0;
  });
}

}  // namespace vernier

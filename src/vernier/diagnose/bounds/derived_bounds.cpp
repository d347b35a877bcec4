#include "vernier/diagnose/bounds/derived_bounds.h"

#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

ElementType narrowest_float(const Graph& graph) {
  ElementType narrowest = ElementType::kFloat;
  for_each_graph(graph, [&](const Graph& each) {
    for (const auto& value : each.values()) {
      if (!value->type.is_tensor() || !is_float(value->type.tensor.element) || value->is_constant()) continue;
      const ElementType type = value->type.tensor.element;
      if (unit_roundoff(type) > unit_roundoff(narrowest)) narrowest = type;
    }
  });
  return narrowest;
}

double own_amplification(const Graph& declared, double relative_l2) {
  bool quantises = false;
  for_each_graph(declared, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) quantises |= node->op == "QuantizeLinear";
  });
  return quantises ? 0 : relative_l2 / unit_roundoff(narrowest_float(declared));
}

DerivedBound bound_of(const PropagatedError& expected, const ShownRun& shown) {
  // The largest of many elements is the tail of their distribution already.
  constexpr double kOfLargest = kBoundFactor / 2;
  // What no node rounds (a copy of an input) is rounded once where it is shown.
  const double relative = std::max(expected.relative_l2, expected.unit_roundoff);
  return {kBoundFactor * relative, kOfLargest * expected.max_abs,
          std::string(shown.quantised ? "int8" : element_type_short_name(narrowest_float(*shown.graph))), ""};
}

std::map<std::string, DerivedBound> derived_bounds(Subject& subject, const NamedData& inputs, uint64_t seed) {
  const ShownRun shown = subject.show(inputs);
  if (!check_on_own_inputs(subject, shown, inputs).suspects.empty()) return {};
  std::map<std::string, DerivedBound> bounds;
  for (const auto& [output, error] : propagated_errors(subject, shown, inputs, seed)) {
    DerivedBound& bound = bounds[output] = bound_of(error, shown);
    bound.remark = "the kernels add nothing beyond the plan";
  }
  return bounds;
}

}  // namespace vernier

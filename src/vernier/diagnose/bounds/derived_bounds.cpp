#include "vernier/diagnose/bounds/derived_bounds.h"

#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/under_test/built_engine.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
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
  bool quantizes = false;
  for_each_graph(declared, [&](const Graph& graph) {
    for (const auto& node : graph.nodes()) quantizes |= node->op == "QuantizeLinear";
  });
  return quantizes ? 0 : relative_l2 / unit_roundoff(narrowest_float(declared));
}

DerivedBound bound_of(const PropagatedError& expected, const ShownRun& shown) {
  // The largest of many elements is the tail of their distribution already.
  constexpr double kOfLargest = kBoundFactor / 2;
  // A value that no node rounds (a copy of an input) is rounded once where it is shown.
  const double relative = std::max(expected.relative_l2, expected.unit_roundoff);
  return {kBoundFactor * relative, kOfLargest * expected.max_abs,
          std::string(shown.quantized ? "int8" : element_type_short_name(narrowest_float(*shown.graph))), ""};
}

std::map<std::string, DerivedBound> derived_bounds(EngineUnderTest& tested, const NamedData& inputs,
                                                   uint64_t seed) {
  const ShownRun shown = tested.show(inputs);
  if (!check_on_own_inputs(tested, shown, inputs).flagged_nodes.empty()) return {};
  std::map<std::string, DerivedBound> bounds;
  for (const auto& [output, error] : propagated_errors(tested, shown, inputs, seed)) {
    DerivedBound& bound = bounds[output] = bound_of(error, shown);
    bound.remark = "the kernels add nothing beyond the plan";
  }
  return bounds;
}

namespace {

using Bounds = std::map<std::string, DerivedBound>;  // by output

// So many times its expected error an output errs that is far beyond its bound.
constexpr double kFarBeyondExpected = kFarBeyond * kBoundFactor;

// Gives, for outputs that may be far beyond a bound, the expected errors that would be enough for them. An
// output is rounded once at least, to its type, so that most engines need no bound to be found sound.
std::map<std::string, double> sufficient_errors(const Graph& graph,
                                                const std::map<std::string, double>& needs) {
  std::map<std::string, double> sufficient;
  for (const Value* output : graph.outputs) {
    const auto need = needs.find(output->name);
    if (need == needs.end() || !output->type.is_tensor()) continue;
    const double expected = need->second / kFarBeyondExpected;
    if (expected > unit_roundoff(output->type.tensor.element)) sufficient[output->name] = expected;
  }
  return sufficient;
}

// Describes a run of which nothing is shown. The model outlives it.
ShownRun unseen(const Model& model) {
  ShownRun shown;
  shown.graph = {std::shared_ptr<const Graph>(), model.graph.get()};
  shown.defaults = default_inputs(*model.graph);
  return shown;
}

// With an error in it a number may be no index any more: then no bound is known.
template <class Find>
Bounds where_known(const Find& find) {
  try {
    return find();
  } catch (const Error&) {
    return {};
  }
}

Bounds exceeded_by(Runner& runner, const Model& model, const NamedData& inputs,
                   const std::map<std::string, double>& needs, uint64_t seed) {
  const PropagationOptions options{model.graph.get(), sufficient_errors(*model.graph, needs), true};
  if (options.met.empty()) return {};
  auto* engine = dynamic_cast<EngineRunner*>(&runner.original());
  std::unique_ptr<EngineUnderTest> tested;
  if (engine != nullptr)
    tested = std::make_unique<BuiltEngineUnderTest>(*engine);
  else
    tested = std::make_unique<RunnerUnderTest>(runner, model, nullptr);
  const ShownRun shown =
      engine != nullptr ? tested->show(inputs, {.values = std::vector<std::string>()}) : unseen(model);
  if (shown.quantized) return {};
  Bounds exceeded;
  for (const auto& [output, error] : propagated_errors(*tested, shown, inputs, seed, options)) {
    const DerivedBound bound = bound_of(error, shown);
    const auto need = needs.find(output);
    if (options.met.contains(output) && need->second > kFarBeyond * bound.relative_l2)
      exceeded[output] = bound;
  }
  return exceeded;
}

}  // namespace

std::map<std::string, DerivedBound> promised_bounds(Runner& runner, const NamedData& inputs, uint64_t seed) {
  auto* engine = dynamic_cast<EngineRunner*>(&runner.original());
  if (engine == nullptr) return {};
  BuiltEngineUnderTest tested(*engine);
  return where_known([&] { return derived_bounds(tested, inputs, seed); });
}

ExceededBounds exceeded_bounds(const Model& model, uint64_t seed) {
  return [&model, seed](Runner& runner, const NamedData& inputs, const std::map<std::string, double>& needs) {
    return where_known([&] { return exceeded_by(runner, model, inputs, needs, seed); });
  };
}

}  // namespace vernier

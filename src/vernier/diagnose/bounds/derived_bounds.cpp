#include "vernier/diagnose/bounds/derived_bounds.h"

#include <algorithm>

#include "vernier/diagnose/experiments/same_input_check.h"
#include "vernier/diagnose/under_test/built_engine.h"
#include "vernier/diagnose/under_test/inner_values.h"
#include "vernier/diagnose/under_test/runner_under_test.h"
#include "vernier/engine/model_values.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/group.h"
#include "vernier/run/dataflow.h"

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

namespace {

// The coarsest format that anything is rounded to, which the largest errors come from.
std::string_view coarsest_rounding(const ShownRun& shown) {
  if (shown.quantized) return "int8";
  const ElementType stored = narrowest_float(*shown.graph);
  const bool by_tf32 = std::any_of(shown.contracts.begin(), shown.contracts.end(), [](const auto& known) {
    return known.second.operands == OperandFormat::tf32();
  });
  const OperandFormat tf32 = OperandFormat::tf32();
  return by_tf32 && tf32.unit_roundoff() > unit_roundoff(stored) ? tf32.text()
                                                                 : element_type_short_name(stored);
}

}  // namespace

DerivedBound bound_of(const PropagatedError& expected, const ShownRun& shown) {
  // The largest of many elements is the tail of their distribution already.
  constexpr double kOfLargest = kBoundFactor / 2;
  // A value that no node rounds (a copy of an input) is rounded once where it is shown.
  const double relative = std::max(expected.relative_l2, expected.unit_roundoff);
  return {kBoundFactor * relative, kOfLargest * expected.max_abs, std::string(coarsest_rounding(shown)), ""};
}

namespace {

// Adds the values that the node makes, and those that the nodes in it make where it is a group.
void add_made(const Node& node, const Node& maker, std::map<std::string, const Node*>& makers) {
  if (ops::is_group(node)) {
    for (const auto& member : ops::body(node).nodes()) add_made(*member, maker, makers);
  }
  for (const Value* output : node.outputs) {
    if (output != nullptr) makers[output->name] = &maker;
  }
}

// The node of the main graph that makes each value; of values inside of a group, the group.
std::map<std::string, const Node*> makers_of(const Graph& graph) {
  std::map<std::string, const Node*> makers;
  for (const auto& node : graph.nodes()) add_made(*node, *node, makers);
  return makers;
}

// Whether an error of a flagged node may have reached the value.
class Reach {
 public:
  Reach(const Graph& graph, const std::vector<FlaggedNode>& flagged_nodes)
      : graph_(graph), makers_(makers_of(graph)) {
    for (const FlaggedNode& flagged : flagged_nodes) flagged_.insert(flagged.node);
    is_whole_ = flagged_nodes.size() < SameInputOptions().most;
  }

  bool knows(const std::string& value) const { return makers_.contains(value); }
  bool has(const std::string& value) const {
    const auto maker = makers_.find(value);
    if (flagged_.empty() || maker == makers_.end()) return false;
    if (!is_whole_) return true;
    std::set<std::string> made;
    for (const Value* output : maker->second->outputs) {
      if (output != nullptr) made.insert(output->name);
    }
    const auto behind = nodes_behind(graph_, std::move(made));
    return std::any_of(flagged_.begin(), flagged_.end(),
                       [&](const Node* node) { return behind.contains(node); });
  }

 private:
  const Graph& graph_;
  std::map<std::string, const Node*> makers_;
  std::set<const Node*> flagged_;
  bool is_whole_ = true;
};

size_t bytes_as_double(const ShownRun& shown, const std::string& value) {
  const auto found = shown.values.find(value);
  if (found == shown.values.end() || !found->second.is_tensor()) return 0;
  return static_cast<size_t>(found->second.tensor.size()) * sizeof(double);
}

// As many at a time as may be followed in the memory that there is; the outputs with the first.
std::vector<std::set<std::string>> followed_at_once(const ShownRun& shown, const Reach& reach,
                                                    const std::set<std::string>& inner_values) {
  constexpr size_t kTimes = 3;
  std::vector<std::string> names;
  std::map<std::string, size_t> bytes;
  for (const std::string& name : inner_values) {
    if (shown.quantized || !reach.knows(name) || reach.has(name)) continue;
    names.push_back(name);
    bytes[name] = kTimes * bytes_as_double(shown, name);
  }
  std::vector<std::set<std::string>> groups;
  for (const auto& batch : in_batches(names, bytes, PropagationOptions().most_bytes))
    groups.emplace_back(batch.begin(), batch.end());
  if (groups.empty()) groups.emplace_back();
  return groups;
}

}  // namespace

std::map<std::string, DerivedBound> derived_bounds(EngineUnderTest& tested, const NamedData& inputs,
                                                   uint64_t seed, const std::set<std::string>& inner_values) {
  const ShownRun shown = tested.show(inputs);
  const SameInputCheck check = check_on_own_inputs(tested, shown, inputs);
  const Reach reach(*shown.graph, check.flagged_nodes);
  const auto groups = followed_at_once(shown, reach, inner_values);
  const bool any_output = std::any_of(shown.graph->outputs.begin(), shown.graph->outputs.end(),
                                      [&](const Value* output) { return !reach.has(output->name); });
  if (!any_output && groups.front().empty()) return {};
  std::map<std::string, DerivedBound> bounds;
  for (const auto& group : groups) {
    PropagationOptions options;
    options.inner_values = group;
    for (const auto& [value, error] : propagated_errors(tested, shown, inputs, seed, options)) {
      if (reach.has(value)) continue;
      DerivedBound& bound = bounds[value] = bound_of(error, shown);
      bound.remark = "the kernels add nothing beyond the plan";
    }
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

std::map<std::string, DerivedBound> promised_bounds(Runner& runner, const NamedData& inputs, uint64_t seed,
                                                    const std::set<std::string>& inner_values) {
  auto* engine = dynamic_cast<EngineRunner*>(&runner.original());
  if (engine == nullptr) return {};
  BuiltEngineUnderTest tested(*engine);
  // The plan stores some of them in narrower types, under names of their own.
  const ModelValues model(engine->engine()->graph());
  std::map<std::string, std::string> in_model;  // by the name in the graph
  std::set<std::string> in_graph;
  for (const std::string& name : inner_values) {
    const std::string& own = model.name_in_graph(name);
    in_model[own] = name;
    in_graph.insert(own);
  }
  std::map<std::string, DerivedBound> bounds;
  for (auto& [name, bound] : where_known([&] { return derived_bounds(tested, inputs, seed, in_graph); })) {
    const auto found = in_model.find(name);
    bounds.emplace(found == in_model.end() ? name : found->second, std::move(bound));
  }
  return bounds;
}

ExceededBounds exceeded_bounds(const Model& model, uint64_t seed) {
  return [&model, seed](Runner& runner, const NamedData& inputs, const std::map<std::string, double>& needs) {
    return where_known([&] { return exceeded_by(runner, model, inputs, needs, seed); });
  };
}

}  // namespace vernier

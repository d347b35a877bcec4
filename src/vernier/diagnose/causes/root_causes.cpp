#include "vernier/diagnose/causes/root_causes.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vernier/base/times_bound.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/causes/reproduction.h"
#include "vernier/diagnose/hypotheses/precision/partial_sums.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

const Tensor* tensor_of(const ShownRun& run, const NamedData& inputs, const Value& value) {
  if (value.is_constant()) return &*value.constant;
  for (const NamedData* known : {&run.values, &inputs}) {
    const auto found = known->find(value.name);
    if (found != known->end() && found->second.is_tensor()) return &found->second.tensor;
  }
  return nullptr;
}

// The flagged node in the run before, as if it were sound.
Tensors sound_before(const FlaggedNode& flagged, const FlaggedRuns& runs) {
  FlaggedNode before;
  before.node = flagged.node;
  for (const Value* input : flagged.node->inputs) {
    const Tensor* tensor = input == nullptr ? nullptr : tensor_of(*runs.before, *runs.inputs_before, *input);
    if (input != nullptr && tensor == nullptr) return Tensors(flagged.made.size());
    before.inputs.push_back(input == nullptr ? Tensor() : *tensor);
  }
  before.made = flagged.made;  // for the types alone
  return Members(before).sound_results();
}

// The flagged node in the run before, if it is wrong there, too.
std::optional<FlaggedNode> wrong_before(const FlaggedNode& flagged, const FlaggedRuns& runs) {
  if (runs.before == nullptr || (!flagged.node->regions.empty() && !ops::is_group(*flagged.node)))
    return std::nullopt;
  FlaggedNode before;
  before.node = flagged.node;
  before.contract = flagged.contract;
  for (const Value* input : flagged.node->inputs) {
    const Tensor* tensor = input == nullptr ? nullptr : tensor_of(*runs.before, *runs.inputs_before, *input);
    if (input != nullptr && tensor == nullptr) return std::nullopt;
    before.inputs.push_back(input == nullptr ? Tensor() : *tensor);
  }
  before.expected = ErrorModel(*before.node, before.inputs).outputs(before.contract);
  for (size_t i = 0; i < flagged.node->outputs.size(); ++i) {
    const Value* output = flagged.node->outputs[i];
    const Tensor* made = output == nullptr ? nullptr : tensor_of(*runs.before, *runs.inputs_before, *output);
    before.made.push_back(made == nullptr ? Tensor() : *made);
    if (made != nullptr) compare_output(before, i);
  }
  if (!(before.worst.worst > SameInputOptions().beyond)) return std::nullopt;
  return before;
}

HypothesisContext context_of(const FlaggedNode& flagged, const FlaggedRuns& runs) {
  HypothesisContext context{*runs.shown.graph, nullptr, nullptr};
  context.value = [&runs](const Value& value) { return tensor_of(runs.shown, runs.inputs, value); };
  if (runs.before != nullptr) context.sound_before = [&] { return sound_before(flagged, runs); };
  if (runs.further != nullptr) context.observe = [&](size_t most) { return runs.further->at(flagged, most); };
  if (runs.changing == nullptr) return context;
  for (const ChangingValue& each : *runs.changing) {
    if (each.heals()) context.healing.insert(each.value);
  }
  return context;
}

// The run before tells nothing of what a run leaves for the next one (B44, B46), because the one before it is
// unknown.
void decide_by_run_before(const FlaggedNode& flagged, const FlaggedRuns& runs, const Stopwatch& watch,
                          Reproduction& reproduction) {
  if (!is_ambiguous(reproduction) || watch.is_over()) return;
  const FailureClass failure = reproduction.cause->failure;
  if (failure == FailureClass(44) || failure == FailureClass(46)) return;
  try {
    const auto before = wrong_before(flagged, runs);
    if (!before) return;
    const FlaggedRuns only{*runs.before, *runs.inputs_before};
    decide_by(*before, context_of(*before, only), &watch, reproduction);
  } catch (const Error&) {
    return;  // it cannot be judged there
  }
}

std::vector<std::string> values_made(const FlaggedNode& flagged) {
  std::vector<std::string> names;
  for (const Value* output : flagged.node->outputs) {
    if (output != nullptr) names.push_back(output->name);
  }
  return names;
}

std::string quoted(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::vector<std::string> shown(names.begin(),
                                 names.begin() + static_cast<ptrdiff_t>(std::min(kMost, names.size())));
  return fmt::format("'{}'{}", fmt::join(shown, "', '"),
                     names.size() > kMost ? fmt::format(" and {} more", names.size() - kMost) : "");
}

Evidence same_input_evidence(const FlaggedNode& flagged) {
  const Value* value = flagged.node->output(flagged.output);
  const std::string name = value == nullptr ? "" : value->name;
  if (flagged.made[flagged.output].dims() != flagged.expected[flagged.output].value.dims())
    return {"same inputs", HUGE_VAL, fmt::format("'{}' has other sizes than what it is made of says", name)};
  return {"same inputs", flagged.worst.worst,
          fmt::format("on what the engine itself read, element {} of '{}' is {:.7g}, and a sound kernel "
                      "makes {:.7g} of it: {} ({})",
                      flagged.worst.element, name, flagged.worst.actual, flagged.worst.expected,
                      times_bound(flagged.worst.worst, flagged.worst.bound, "its"), flagged.contract.text())};
}

std::vector<RejectedCause> rejected_of(const Reproduction& reproduction) {
  constexpr size_t kMost = 5;
  std::vector<RejectedCause> rejected;
  for (const Simulated& other : reproduction.others) {
    if (rejected.size() == kMost) break;
    if (!std::isfinite(other.residual)) continue;  // other sizes
    rejected.push_back(
        {other.failure, other.residual,
         fmt::format("that {} leaves {:.3g} % of the error", other.what, 100 * other.residual)});
  }
  return rejected;
}

// Blames fusion for what a group makes wrong only as long as nobody sees inside: the decisive experiment of a
// defect of fusion. Other causes may lie in the fused kernel, too.
void add_fusion(const FlaggedNode& flagged, const FlaggedRuns& runs, RootCause& root_cause) {
  if (runs.changing == nullptr || !ops::is_group(*flagged.node)) return;
  std::set<std::string> inside;
  for (const auto& value : ops::body(*flagged.node).values()) inside.insert(value->name);
  bool heals = false;
  for (const ChangingValue& each : *runs.changing) {
    if (!inside.contains(each.value)) continue;
    heals = heals || each.heals();
    root_cause.evidence.push_back(
        {"fusion taken apart", each.error_shown,
         fmt::format("with '{}' shown the outputs are {}: they differ by {:.2g}; without by {:.2g}",
                     each.value, each.heals() ? "right" : "others", each.error_shown, each.error_unshown)});
  }
  if (!heals) return;
  for (const std::string& node : flagged.onnx_nodes()) {
    if (std::find(root_cause.nodes.begin(), root_cause.nodes.end(), node) == root_cause.nodes.end())
      root_cause.nodes.push_back(node);
  }
  if (root_cause.failure.is_explained()) return;
  constexpr double kProven = 0.7;  // that it is fusion, not what is wrong in it
  root_cause.failure = FailureClass(31);
  root_cause.confidence = kProven;
  root_cause.sentence =
      fmt::format("{} are wrong as one, and right where an inner value is shown", quoted(root_cause.nodes));
  root_cause.repair = repair_of(root_cause);
}

RootCause root_cause_of(const FlaggedNode& flagged, const Reproduction& reproduction) {
  RootCause root_cause;
  root_cause.nodes = flagged.onnx_nodes();
  root_cause.values = values_made(flagged);
  root_cause.evidence.push_back(same_input_evidence(flagged));
  root_cause.rejected = rejected_of(reproduction);
  if (!reproduction.cause) {
    root_cause.sentence = fmt::format("{} makes what none of {} simulated causes reproduces",
                                      quoted(root_cause.nodes), reproduction.tried);
    return root_cause;
  }
  const Simulated& cause = *reproduction.cause;
  root_cause.failure = cause.failure;
  root_cause.confidence = reproduction.confidence;
  if (!cause.values.empty()) {
    root_cause.nodes.clear();
    root_cause.values = cause.values;
    root_cause.sentence = cause.what;
  } else {
    root_cause.nodes = cause.nodes;
    root_cause.sentence = fmt::format("{}: {}", quoted(root_cause.nodes), cause.what);
  }
  root_cause.evidence.push_back(
      {"reproduction", cause.residual,
       fmt::format("the reference, in which {}, makes what the engine made but for {:.3g} % of the error",
                   cause.what, 100 * cause.residual)});
  root_cause.repair = repair_of(root_cause);
  return root_cause;
}

// How far the outputs move if the node alone makes its error.
double effect_of(const FlaggedNode& flagged, const FlaggedRuns& runs, const std::vector<Datum>& right) {
  const NamedData given = runs.shown.given(runs.inputs);
  InterpreterOptions options;
  options.planned = &runs.shown.roundings;
  options.revise = [&](const Node& node, std::span<const Datum* const>, std::vector<Datum>& results) {
    if (&node != flagged.node) return;
    for (size_t i = 0; i < results.size(); ++i) {
      Tensor& tensor = results[i].tensor;
      const Tensor& made = flagged.made[i];
      if (!made.is_defined() || !tensor.is_defined() || made.dims() != tensor.dims()) continue;
      if (!is_float(made.type())) {
        tensor = made;
        continue;
      }
      auto values = tensor.to_doubles();
      const auto wrong = made.to_doubles(), sound = flagged.expected[i].value.to_doubles();
      for (size_t k = 0; k < values.size(); ++k) {
        const bool alike = wrong[k] == sound[k] || (std::isnan(wrong[k]) && std::isnan(sound[k]));
        if (!alike) values[k] += wrong[k] - sound[k];  // an Inf that is right adds nothing
      }
      tensor = Tensor::from_doubles(tensor.type(), tensor.dims(), values);
    }
  };
  const auto moved = run_reference(*runs.shown.graph, given, options).outputs;
  Tensors a, b;
  for (size_t i = 0; i < right.size(); ++i) {
    a.push_back(moved[i].tensor);
    b.push_back(right[i].tensor);
  }
  return bounded_distance(a, b, b);
}

std::vector<double> shares_of(const std::vector<FlaggedNode>& flagged_nodes, const FlaggedRuns& runs,
                              Stopwatch& watch) {
  if (flagged_nodes.size() == 1) return {1};
  std::vector<double> shares(flagged_nodes.size(), 0);
  InterpreterOptions options;
  options.planned = &runs.shown.roundings;
  const NamedData given = runs.shown.given(runs.inputs);
  const auto right = run_reference(*runs.shown.graph, given, options).outputs;
  double sum = 0;
  for (size_t i = 0; i < flagged_nodes.size() && !watch.is_over(); ++i) {
    const double effect =
        watch.time("substitution", 1, [&] { return effect_of(flagged_nodes[i], runs, right); });
    shares[i] = std::isfinite(effect) ? effect * effect : 0;
    sum += shares[i];
  }
  const double alike = 1 / static_cast<double>(shares.size());
  for (double& share : shares) share = sum > 0 ? share / sum : alike;
  return shares;
}

}  // namespace

std::vector<RootCause> root_causes_of(const SameInputCheck& check, const FlaggedRuns& runs, size_t most,
                                      Stopwatch& watch) {
  std::vector<FlaggedNode> flagged_nodes(
      check.flagged_nodes.begin(),
      check.flagged_nodes.begin() + static_cast<ptrdiff_t>(std::min(most, check.flagged_nodes.size())));
  std::erase_if(flagged_nodes, only_rounds_partial_sums);
  if (flagged_nodes.empty()) return {};
  const auto shares = shares_of(flagged_nodes, runs, watch);
  std::vector<RootCause> root_causes;
  for (size_t i = 0; i < flagged_nodes.size(); ++i) {
    Reproduction reproduction = watch.is_over() ? Reproduction() : watch.time("reproduction", 1, [&] {
      return reproduce(flagged_nodes[i], context_of(flagged_nodes[i], runs), &watch);
    });
    decide_by_run_before(flagged_nodes[i], runs, watch, reproduction);
    root_causes.push_back(root_cause_of(flagged_nodes[i], reproduction));
    add_fusion(flagged_nodes[i], runs, root_causes.back());
    root_causes.back().share = shares[i];
  }
  std::stable_sort(root_causes.begin(), root_causes.end(),
                   [](const RootCause& a, const RootCause& b) { return a.share > b.share; });
  return root_causes;
}

}  // namespace vernier

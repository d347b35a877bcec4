#include "vernier/diagnose/hazards/model_hazards.h"

#include <algorithm>
#include <cmath>

#include "vernier/check/check.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/hazards/hazard_signs.h"
#include "vernier/diagnose/hazards/widened_model.h"
#include "vernier/numeric/ulp.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/plan.h"
#include "vernier/run/ties.h"

namespace vernier {

namespace {

using Healed = IdealComparison::Healed;

// A healthy model makes errors of some roundings; what happens at a node must make more than these.
double least_of_events(double unit_roundoff) {
  constexpr double kRoundings = 8;
  return kRoundings * unit_roundoff;
}

// Errors that nodes magnify are the price of the types as long as the outputs resemble what is meant.
double least_of_amplification(double unit_roundoff) {
  constexpr double kTimes = 1e4, kMost = 0.5;
  return std::min(kMost, kTimes * unit_roundoff);
}

// The node of a sign, and those behind it to which it gives what its type does not hold.
std::set<const Node*> chain_of(const HazardSign& sign, const IdealComparison& runs,
                               const Surroundings& around) {
  std::set<const Node*> chain{sign.node};
  for (const auto& node : runs.graph().nodes()) {
    for (const Value* input : node->inputs) {
      if (input != nullptr && input->producer() != nullptr && chain.contains(input->producer()) &&
          !survives(*input, runs, around))
        chain.insert(node.get());
    }
  }
  return chain;
}

// The names of the ONNX nodes, those of the node at which it is seen first.
std::vector<std::string> names_of(const HazardSign& sign) {
  auto names = onnx_nodes_of(*sign.member);
  for (const std::string& name : onnx_nodes_of(*sign.node)) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

RootCause root_cause_of(const HazardSign& sign, double before, double after, double share, bool planned) {
  RootCause root_cause;
  root_cause.nodes = names_of(sign);
  for (const Value* output : sign.node->outputs) {
    if (output != nullptr) root_cause.values.push_back(output->name);
  }
  root_cause.failure = sign.failure;
  root_cause.share = share;
  root_cause.confidence = 0.5 + 0.5 * std::min(1.0, share);
  root_cause.sentence =
      fmt::format("not the engine, but {} is at fault at '{}': {}",
                  planned ? "the precision that its plan asks for" : "the model as declared",
                  root_cause.nodes.front(), sign.sentence);
  root_cause.evidence.push_back({"model in wide arithmetic", share, sign.sentence});
  root_cause.evidence.push_back(
      {"counterfactual", share,
       fmt::format("where '{}' is right, the error of the outputs falls from {:.3g} to {:.3g}",
                   root_cause.nodes.front(), before, after)});
  root_cause.repair = repair_of(root_cause);
  return root_cause;
}

class Search {
 public:
  // `unit` is the roundoff of the narrowest type of the model.
  Search(IdealComparison& runs, double unit, bool planned, bool only_overflows, Stopwatch& watch)
      : runs_(runs),
        around_(runs.graph()),
        unit_(unit),
        planned_(planned),
        only_overflows_(only_overflows),
        watch_(watch) {}

  std::vector<RootCause> root_causes() {
    const double first = runs_.distance();
    const double relative = IdealComparison::relative_error(runs_.ideal_outputs(), runs_.outputs());
    if (!(first > 0) || !(relative > least_of_events(unit_))) return {};
    const bool amplified = relative > least_of_amplification(unit_);
    double left = first;
    constexpr size_t kTrials = 16;
    constexpr double kNoticed = 0.1;
    std::vector<RootCause> found;
    for (size_t i = 0; i < kTrials && left > kNoticed * first && !watch_.is_over(); ++i) {
      const auto sign = next(amplified);
      if (!sign) break;
      const double now = watch_.time("counterfactual", 1, [&] { return distance_without(*sign); });
      const double share = (left - now) / first;
      if (share >= kNoticed && sign->overflows) to_widen_.merge(overflowing_);
      if (share >= kNoticed) found.push_back(root_cause_of(*sign, left, now, share, planned_));
      left = std::min(left, now);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const RootCause& a, const RootCause& b) { return a.share > b.share; });
    return found;
  }

  // After root causes(), the nodes that overflow by a part of the error, and those that read what they make.
  const std::set<std::string>& to_widen() const { return to_widen_; }

 private:
  // The first one in the order of execution of which nothing is known yet.
  std::optional<HazardSign> next(bool amplified) const {
    std::optional<HazardSign> amplifying;
    for (const auto& node : runs_.graph().nodes()) {
      if (healed_.contains(node.get())) continue;
      auto sign = hazard_sign(*node, runs_, around_);
      if (sign && only_overflows_ && !sign->overflows) continue;
      if (sign && sign->is_event) return sign;
      if (sign && !amplifying) amplifying = std::move(sign);
    }
    return amplified ? amplifying : std::nullopt;
  }

  double distance_without(const HazardSign& sign) {
    const auto chain = chain_of(sign, runs_, around_);
    overflowing_ = nodes_to_widen(chain, runs_, around_);
    // A node of a chain may be a group, which does not run by itself.
    for (const Node* node : chain)
      (sign.is_event && node->regions.empty() ? healed_.exact : healed_.given).insert(node);
    runs_.run(healed_);
    return runs_.distance();
  }

  IdealComparison& runs_;
  const Surroundings around_;
  double unit_;
  bool planned_, only_overflows_;
  Stopwatch& watch_;
  Healed healed_;
  std::set<std::string> overflowing_, to_widen_;  // of the last sign; of all that count
};

// Adds what the lint says of the same nodes.
void add_findings(const Model& model, std::vector<RootCause>& root_causes) {
  if (root_causes.empty()) return;
  for (const Finding& finding : check(model, {})) {
    const std::string code = finding.rule.substr(0, finding.rule.find('-'));
    for (RootCause& root_cause : root_causes) {
      const bool same =
          std::find(root_cause.nodes.begin(), root_cause.nodes.end(), finding.node) != root_cause.nodes.end();
      if (same && code == root_cause.failure.code())
        root_cause.evidence.push_back({"check", finding.effect, finding.message});
    }
  }
}

// Whether the plan of the engine has the node compute in float, where the model declares less.
bool is_widened(const HazardJob& job, const std::string& name) {
  const auto makes_float = [&](const Graph& graph) {
    bool found = false;
    for_each_graph(graph, [&](const Graph& inner) {
      for (const auto& node : inner.nodes())
        found |= onnx_nodes(*node).contains(name) && element_of(main_output(*node)) == ElementType::kFloat;
    });
    return found;
  };
  return makes_float(*job.shown.graph) && !makes_float(*job.model.graph);
}

// The cure of all that overflows in the types of the model, tried on the model.
void add_widening(const HazardJob& job, const std::set<std::string>& nodes, const NamedData& ideal,
                  double before, std::vector<RootCause>& root_causes) {
  const auto patterns = patterns_of(nodes);
  const auto evidence =
      nodes.empty() ? std::nullopt : widened_model(job.model, patterns, job.inputs, ideal, before);
  if (!evidence) return;
  const std::string option = widening_option(patterns);
  for (RootCause& root_cause : root_causes) {
    if (!nodes.contains(root_cause.nodes.front())) continue;
    root_cause.evidence.push_back(*evidence);
    root_cause.repair.sentence += fmt::format("; tried: vernier export MODEL {} -o widened.onnx", option);
  }
}

// Finds what the model as declared loses, in whatever an engine of it makes. `before`: how far its outputs
// are from the ideal ones.
std::vector<RootCause> declared_hazards(const HazardJob& job, IdealComparison& declared, double unit,
                                        bool only_overflows, double before, Stopwatch& watch) {
  Search search(declared, unit, false, only_overflows, watch);
  auto root_causes = search.root_causes();
  if (!watch.is_over()) add_widening(job, search.to_widen(), declared.ideal_outputs(), before, root_causes);
  return root_causes;
}

}  // namespace

std::vector<RootCause> model_hazards(const HazardJob& job, Stopwatch& watch) {
  const NamedData given = job.shown.given(job.inputs);
  const NamedData ideal = watch.time("model in wide arithmetic", 1, [&] {
    return reference_outputs(*job.model.graph, job.inputs, {.mode = ReferenceMode::kIdeal});
  });
  // An engine may be better than its types.
  const double error = IdealComparison::relative_error(ideal, job.outputs);
  // Eight bits of a scale are as good as eight of a mantissa.
  const auto& nodes = job.model.graph->nodes();
  const bool is_quantized =
      std::any_of(nodes.begin(), nodes.end(), [](const auto& node) { return quantizes(*node); });
  const double of_floats = IdealComparison::unit_roundoff(*job.model.graph);
  const double unit = std::max(of_floats, is_quantized ? 0x1p-8 : 0.0);
  // One that keeps more digits is spared what overflows a narrow type; the next one is not.
  const bool is_better = !(error > least_of_events(unit));
  if (is_better && of_floats <= unit_roundoff(ElementType::kFloat)) return {};
  IdealComparison declared = watch.time(
      "model in wide arithmetic", 2, [&] { return IdealComparison(*job.model.graph, job.inputs, nullptr); });
  const double of_model = IdealComparison::relative_error(declared.ideal_outputs(), declared.outputs());
  auto root_causes = declared_hazards(job, declared, unit, is_better, of_model, watch);
  if (is_better) {
    std::erase_if(root_causes,
                  [&](const RootCause& root_cause) { return is_widened(job, root_cause.nodes.front()); });
    for (RootCause& root_cause : root_causes)
      root_cause.evidence.push_back(
          {"engine", error,
           fmt::format(
               "this engine keeps more digits than the model declares, and is off by {:.2g} where the "
               "model as declared is by {}",
               error, std::isfinite(of_model) ? fmt::format("{:.2g}", of_model) : "NaN or Inf")});
  }
  // A plan need not answer for what the model makes itself.
  constexpr double kMore = 4;
  const bool by_plan =
      !is_better && job.shown.graph.get() != job.model.graph.get() && error > kMore * of_model;
  if (root_causes.empty() && by_plan && !watch.is_over()) {
    IdealComparison planned(*job.shown.graph, given, &job.shown.roundings);
    root_causes =
        Search(planned, std::max(unit, IdealComparison::unit_roundoff(*job.shown.graph)), true, false, watch)
            .root_causes();
  }
  add_findings(job.model, root_causes);
  return root_causes;
}

bool rounds_less(const HazardJob& job) {
  const Surroundings around(*job.model.graph);
  bool narrow = false, casts = false;
  for (const Node* node : around.nodes()) {
    const ElementType type = element_type_of(node->output(0));
    const bool is_narrow = is_float(type) && unit_roundoff(type) > unit_roundoff(ElementType::kFloat);
    casts = casts || (is_narrow && has_op(*node, {"Cast"}));
    narrow = narrow || is_narrow;
  }
  if (!narrow) return false;
  const NamedData ideal = reference_outputs(*job.model.graph, job.inputs, {.mode = ReferenceMode::kIdeal});
  const double engine = IdealComparison::relative_error(ideal, job.outputs),
               types =
                   IdealComparison::relative_error(ideal, reference_outputs(*job.model.graph, job.inputs));
  // Beside a model that its types damage everything is right that is not as wrong, and a fault of the engine,
  // too: there what keeps digits is as good as without any rounding. No Cast means that what it narrows is to
  // become infinite.
  constexpr double kRoundings = 64;
  const double unit = IdealComparison::unit_roundoff(*job.model.graph);
  if (types > kRoundings * unit) return engine < least_of_events(unit) && (std::isinf(types) || !casts);
  return !casts && engine <= types;
}

}  // namespace vernier

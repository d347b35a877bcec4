#include "vernier/diagnose/hazards/kept_digits.h"

#include <algorithm>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/causes/root_causes.h"
#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/diagnose/hazards/ideal_comparison.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

namespace {

constexpr double kLeavesLittle = 0.3;

bool is_narrow(const Value* value) {
  const ElementType type = element_type_of(value);
  return is_float(type) && unit_roundoff(type) > unit_roundoff(ElementType::kFloat);
}

bool any_narrow(const std::vector<Value*>& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const Value* value) { return !value->is_constant() && is_narrow(value); });
}

// Nodes that read or make what is narrow, in execution order.
std::vector<const Node*> narrow_nodes(const Graph& graph) {
  std::vector<const Node*> nodes;
  const auto given = [](std::vector<Value*> values) {
    std::erase(values, nullptr);
    return values;
  };
  for (const auto& node : graph.nodes()) {
    if (node->regions.empty() && (any_narrow(given(node->inputs)) || any_narrow(given(node->outputs))))
      nodes.push_back(node.get());
  }
  return nodes;
}

class Search {
 public:
  Search(const Model& model, const NamedData& inputs, const NamedData& outputs, Stopwatch& watch)
      : nodes_(narrow_nodes(*model.graph)), outputs_(outputs), watch_(watch) {
    if (!nodes_.empty()) runs_.emplace(*model.graph, inputs, nullptr);
  }

  std::optional<KeptDigits> stretch() {
    if (nodes_.empty()) return std::nullopt;
    error_ = distance();
    // Less than that is the rounding of floats, and beyond it there is no number.
    constexpr double kLeast = 1e-7, kMost = 1;
    if (!(error_ > kLeast && error_ < kMost) || !explains(0, nodes_.size())) return std::nullopt;
    size_t end = nodes_.size();
    for (size_t below = 0; end - below > 1;) {
      const size_t middle = below + (end - below) / 2;
      (explains(0, middle) ? end : below) = middle;
    }
    size_t begin = 0;
    for (size_t above = end; above - begin > 1;) {
      const size_t middle = begin + (above - begin) / 2;
      (explains(middle, end) ? begin : above) = middle;
    }
    if (watch_.is_over()) return std::nullopt;
    const auto at = [&](size_t i) { return nodes_.begin() + static_cast<ptrdiff_t>(i); };
    return KeptDigits{{at(begin), at(end)}, residual(begin, end), error_};
  }

 private:
  double distance() const { return bounded_distance(runs_->outputs(), outputs_, runs_->ideal_outputs()); }

  // Gives what is left of the difference where these nodes do not round.
  double residual(size_t begin, size_t end) {
    IdealComparison::Healed healed;
    for (size_t i = begin; i < end; ++i) healed.exact.insert(nodes_[i]);
    watch_.time("reference without roundings", 1, [&] { runs_->run(healed); });
    return distance() / error_;
  }
  bool explains(size_t begin, size_t end) {
    return begin < end && !watch_.is_over() && residual(begin, end) <= kLeavesLittle;
  }

  std::vector<const Node*> nodes_;
  const NamedData& outputs_;
  Stopwatch& watch_;
  std::optional<IdealComparison> runs_;
  double error_ = 0;
};

}  // namespace

std::optional<KeptDigits> kept_digits(const Model& model, const NamedData& inputs, const NamedData& outputs,
                                      Stopwatch& watch) {
  return Search(model, inputs, outputs, watch).stretch();
}

std::vector<RootCause> dropped_casts(const Model& model, const NamedData& inputs, const NamedData& outputs,
                                     Stopwatch& watch) {
  const auto& nodes = model.graph->nodes();
  const auto is_cast = [](const auto& node) {
    return has_op(*node, {"Cast"}) && (is_narrow(node->output(0)) != is_narrow(node->input(0)));
  };
  if (std::none_of(nodes.begin(), nodes.end(), is_cast)) return {};
  const auto kept = kept_digits(model, inputs, outputs, watch);
  constexpr size_t kFew = 6;
  if (!kept || kept->nodes.size() > kFew || std::none_of(kept->nodes.begin(), kept->nodes.end(), is_cast))
    return {};
  RootCause root_cause = root_cause_of(*kept);
  root_cause.failure = FailureClass(14);
  root_cause.sentence = "a Cast is not executed: " + root_cause.sentence;
  root_cause.repair = repair_of(root_cause);
  return {root_cause};
}

RootCause root_cause_of(const KeptDigits& kept) {
  RootCause root_cause;
  for (const Node* node : kept.nodes) {
    for (const std::string& name : onnx_nodes_of(*node)) root_cause.nodes.push_back(name);
    if (node->output(0) != nullptr) root_cause.values.push_back(node->output(0)->name);
  }
  root_cause.share = 1 - kept.residual;
  root_cause.confidence = 1 - kept.residual;
  const bool many = root_cause.nodes.size() > 1;
  root_cause.sentence = fmt::format("what '{}'{} makes is not rounded to the types that the model declares",
                                    root_cause.nodes.front(),
                                    many ? fmt::format(" and {} more", root_cause.nodes.size() - 1) : "");
  root_cause.evidence.push_back(
      {"reference without roundings", kept.residual,
       fmt::format("the reference, in which '{}'{} keep their digits, makes the outputs but for {:.3g} % of "
                   "the difference",
                   root_cause.nodes.front(), many ? fmt::format(" to '{}'", root_cause.nodes.back()) : "",
                   100 * kept.residual)});
  return root_cause;
}

}  // namespace vernier

#include "vernier/diagnose/causes/common_causes.h"

#include <algorithm>

#include "vernier/diagnose/causes/repairs.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

// Products by constants, in groups as well.
bool has_weights(const Node& node) {
  for (const auto& [name, region] : node.regions) {
    for (const auto& member : region->nodes()) {
      if (has_weights(*member)) return true;
    }
  }
  const auto* def = ops::OpRegistry::instance().find(node);
  if (def == nullptr || (def->traits & ops::kContraction) == 0) return false;
  return node.input(1) != nullptr && node.inputs[1]->is_constant();
}

std::optional<std::string> call_of(const std::string& node, const std::map<std::string, std::string>& calls) {
  for (size_t end = node.find('/'); end != std::string::npos; end = node.find('/', end + 1)) {
    if (calls.contains(node.substr(0, end))) return node.substr(0, end);
  }
  return std::nullopt;
}

}  // namespace

void join_wrong_weights(const ShownRun& shown, const SameInputCheck& check, std::vector<Culprit>& culprits) {
  constexpr double kNearlyAll = 0.8;
  constexpr size_t kFewest = 3;
  const size_t kept = SameInputOptions().most;
  size_t weighted = 0;
  for (const auto& node : shown.graph->nodes()) weighted += has_weights(*node) ? 1 : 0;
  if (weighted < kFewest) return;
  std::vector<std::string> nodes;
  size_t wrong = 0;
  for (const Suspect& suspect : check.suspects) {
    if (!has_weights(*suspect.node)) continue;
    ++wrong;
    const auto more = suspect.onnx_nodes();
    nodes.insert(nodes.end(), more.begin(), more.end());
  }
  const auto other =
      static_cast<double>(std::count_if(culprits.begin(), culprits.end(), [](const Culprit& each) {
        return !each.failure.is_explained() || each.failure == FailureClass(47);
      }));
  if (static_cast<double>(wrong) < kNearlyAll * static_cast<double>(std::min(weighted, kept)) ||
      static_cast<double>(wrong) < kNearlyAll * static_cast<double>(check.suspects.size()) ||
      other < kNearlyAll * static_cast<double>(culprits.size()))
    return;
  Culprit made;
  made.nodes = std::move(nodes);
  for (const Value* output : shown.graph->outputs) made.values.push_back(output->name);
  made.failure = FailureClass(47);
  made.sentence = fmt::format(
      "{} of {} nodes with weights are wrong, and hardly any without: the weights are those of another "
      "model",
      wrong, weighted);
  made.confidence = 0.8;
  made.share = 1;
  made.evidence = {
      {"same inputs", static_cast<double>(wrong) / static_cast<double>(weighted), made.sentence}};
  made.repair = repair_of(made);
  culprits = {std::move(made)};
}

void blame_precision_for_epsilons(std::vector<Culprit>& culprits) {
  const FailureClass precision(13), epsilon(5);
  constexpr int64_t kSeveral = 2;
  const auto is_other = [&](const Culprit& culprit) { return culprit.failure == precision; };
  if (std::count_if(culprits.begin(), culprits.end(), is_other) < kSeveral) return;
  for (Culprit& culprit : culprits) {
    if (culprit.failure != epsilon) continue;
    culprit.failure = precision;
    culprit.sentence += ", by the precision that its neighbours are computed in";
    culprit.repair = repair_of(culprit);
  }
}

void name_custom_operators(const Graph& graph, const std::map<std::string, std::string>& calls,
                           std::vector<Culprit>& culprits) {
  if (calls.empty()) return;
  size_t inside = 0;
  for (const auto& node : graph.nodes()) inside += call_of(node->name, calls) ? 1 : 0;
  if (2 * inside > graph.nodes().size() && inside > 1) return;
  for (Culprit& culprit : culprits) {
    const auto call = culprit.nodes.empty() ? std::nullopt : call_of(culprit.nodes.front(), calls);
    if (!call) continue;
    if (culprit.failure.is_explained())
      culprit.rejected.insert(culprit.rejected.begin(),
                              {culprit.failure, 0, "it is how the operator goes wrong: " + culprit.sentence});
    culprit.nodes.insert(culprit.nodes.begin(), *call);
    culprit.failure = FailureClass(45);
    culprit.confidence = std::max(culprit.confidence, 0.8);
    culprit.sentence =
        fmt::format("'{}', an operator of the model's own ({}), does not make what its function says", *call,
                    calls.at(*call));
    culprit.repair = repair_of(culprit);
  }
}

}  // namespace vernier

// Nodes that an engine of ours computes in a narrow type are computed in float: those at fault, then those
// around them, too, and at last all.
#include <fmt/ranges.h>

#include "vernier/diagnose/repairs/candidate.h"

namespace vernier {

namespace {

// The nodes, and those that make what they read or read what they make.
std::set<std::string> with_neighbours(const Graph& graph, const std::set<std::string>& nodes) {
  std::set<std::string> all = nodes;
  for (const auto& node : graph.nodes()) {
    const bool is_meant = nodes.contains(node->name);
    for (const Value* input : node->inputs) {
      const Node* maker = input == nullptr ? nullptr : input->producer();
      if (maker == nullptr) continue;
      if (is_meant) all.insert(maker->name);
      if (nodes.contains(maker->name)) all.insert(node->name);
    }
  }
  return all;
}

std::optional<PrecisionPlan> upcast(const PrecisionPlan& plan, const std::set<std::string>& nodes) {
  PrecisionPlan wide = plan;
  bool changes = false;
  for (auto& [name, layer] : wide.layers) {
    const bool is_wide = layer.quant.empty() && !layer.tf32 && holds(layer.compute, ElementType::kFloat) &&
                         holds(layer.store, ElementType::kFloat);
    if (is_wide || !nodes.contains(name)) continue;
    layer = LayerPrecision();
    layer.by = LayerPrecision::By::kUser;
    layer.why = "a repair that was found by diagnosis";
    layer.frozen = true;
    changes = true;
  }
  return changes ? std::optional(std::move(wide)) : std::nullopt;
}

std::set<std::string> all_layers(const PrecisionPlan& plan) {
  std::set<std::string> names;
  for (const auto& [name, layer] : plan.layers) names.insert(name);
  return names;
}

}  // namespace

void widen_in_plan(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  if (!context.has_plan || context.nodes.empty()) return;
  const std::set<std::string> own(context.nodes.begin(), context.nodes.end());
  // No plan undoes what the model quantizes itself.
  const auto& nodes = context.model.graph->nodes();
  const bool quantizes = std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return own.contains(node->name) && (node->op == "QuantizeLinear" || node->op == "DequantizeLinear");
  });
  if (quantizes) return;
  const auto around = with_neighbours(*context.model.graph, own);
  const auto far = with_neighbours(*context.model.graph, around);
  const auto add = [&](const std::string& name, const std::string& sentence, std::set<std::string> nodes) {
    RepairCandidate candidate{Repair::Kind::kPlan, name, sentence};
    candidate.plan = [nodes = std::move(nodes)](const PrecisionPlan& plan) { return upcast(plan, nodes); };
    candidates.push_back(std::move(candidate));
  };
  add("float", fmt::format("compute '{}' in float", fmt::join(own, "', '")), own);
  add("float-around", fmt::format("compute '{}' and the nodes around in float", fmt::join(own, "', '")),
      around);
  add("float-further",
      fmt::format("compute '{}' and two nodes around in every direction in float", fmt::join(own, "', '")),
      far);
}

void widen_everything(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  if (!context.has_plan) return;
  RepairCandidate candidate{Repair::Kind::kPlan, "float-everywhere", "compute all nodes in float"};
  candidate.plan = [](const PrecisionPlan& plan) { return upcast(plan, all_layers(plan)); };
  candidates.push_back(std::move(candidate));
}

}  // namespace vernier

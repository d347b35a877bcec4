#include "vernier/diagnose/experiments/opened_regions.h"

#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/passes/build.h"

namespace vernier {

namespace {

bool can_be_opened(const Node& node) {
  return node.op == "If" && node.domain.empty() &&
         std::all_of(node.outputs.begin(), node.outputs.end(),
                     [](const Value* output) { return output == nullptr || output->type.is_tensor(); });
}

using Conditions = std::map<const Node*, bool>;

Conditions conditions_of(const Graph& graph, const NamedData& inputs) {
  const auto& nodes = graph.nodes();
  if (std::none_of(nodes.begin(), nodes.end(), [](const auto& node) { return can_be_opened(*node); }))
    return {};
  Conditions conditions;
  InterpreterOptions options;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands, std::vector<Datum>&) {
    if (can_be_opened(node)) conditions[&node] = operands[0]->tensor.values<bool>()[0];
  };
  run_reference(graph, inputs, options);
  return conditions;
}

using Regions = std::vector<std::pair<const Node*, std::unique_ptr<Graph>>>;

// Leaves the Ifs without branches, so that the names in these are free.
Regions take_branches(Graph& graph, const Conditions& conditions) {
  Regions taken;
  for (const auto& node : graph.nodes()) {
    const auto condition = conditions.find(node.get());
    if (condition == conditions.end()) continue;
    auto regions = std::exchange(node->regions, {});
    for (auto& [name, region] : regions) {
      if (name == (condition->second ? "then_branch" : "else_branch"))
        taken.emplace_back(node.get(), std::move(region));
    }
  }
  return taken;
}

// Puts the nodes of a region where the node is.
void open(Graph& graph, const Node& node, const Graph& region, FreeNames& names, int64_t opset) {
  const auto& nodes = graph.nodes();
  auto position = static_cast<size_t>(
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == &node; }) -
      nodes.begin());
  ValueMap values;
  for (size_t i = 0; i < region.inputs.size(); ++i) values[region.inputs[i]] = node.inputs[i];
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const Node* producer = region.outputs[i]->producer();
    if (node.outputs[i] != nullptr && producer != nullptr && &producer->graph() == &region)
      values.try_emplace(region.outputs[i], node.outputs[i]);
  }
  for (const auto& value : region.values()) {
    if (values.contains(value.get())) continue;
    Value* twin = graph.add_value(names.take(value->name), value->type);
    twin->constant = value->constant;
    values[value.get()] = twin;
  }
  for (const auto& inner : region.nodes()) graph.add_node(clone(*inner, values, &graph), position++);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == nullptr) continue;
    const auto made = values.find(region.outputs[i]);
    Value* result = made == values.end() ? region.outputs[i] : made->second;
    if (result == node.outputs[i]) continue;
    auto same = make_node("Identity", opset, {result}, node.outputs[i]);
    same->provenance = node.provenance;
    graph.add_node(std::move(same), position++);
  }
  graph.remove_nodes({&node});
}

// Leaves the groups without bodies, so that the names in these are free.
Regions take_bodies(Graph& graph) {
  Regions taken;
  for (const auto& node : graph.nodes()) {
    if (!ops::is_group(*node)) continue;
    taken.emplace_back(node.get(), std::move(node->regions.front().second));
    node->regions.clear();
  }
  return taken;
}

}  // namespace

std::optional<Model> with_open_branches(const Model& model, const NamedData& inputs) {
  constexpr int kDeepest = 16;
  Model result = clone(model);
  Graph& graph = *result.graph;
  int depth = 0;
  for (; depth < kDeepest; ++depth) {
    const Conditions conditions = conditions_of(graph, inputs);
    if (conditions.empty()) break;
    const Regions taken = take_branches(graph, conditions);
    FreeNames names(graph);
    for (const auto& [node, branch] : taken) open(graph, *node, *branch, names, model.opset(""));
    ops::infer_types(graph);
  }
  return depth > 0 ? std::optional(std::move(result)) : std::nullopt;
}

std::unique_ptr<Graph> without_groups(const Graph& graph) {
  constexpr int64_t kOpset = 13;
  auto result = clone(graph);
  for (Regions bodies = take_bodies(*result); !bodies.empty(); bodies = take_bodies(*result)) {
    FreeNames names(*result);
    for (const auto& [group, body] : bodies) open(*result, *group, *body, names, kOpset);
  }
  return result;
}

std::unique_ptr<OpenedModel> opened(EngineUnderTest& tested, const Model& model, const NamedData& inputs,
                                    const NamedData& plain, const NamedData& right) {
  try {
    auto open = with_open_branches(model, inputs);
    if (!open) return nullptr;
    auto made = std::make_unique<OpenedModel>();
    made->model = std::move(*open);
    made->tested = tested.with_model(made->model);
    if (!made->tested) return nullptr;
    constexpr double kPart = 0.02, kRounding = 1e-5;
    const double error = bounded_distance(plain, right, right);
    const double other = bounded_distance(made->tested->run(inputs), plain, right);
    // Answers of other sizes than the right ones are infinitely far away from these.
    const bool same = std::isfinite(other) && other <= std::max(kPart * error, kRounding);
    return same ? std::move(made) : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace vernier

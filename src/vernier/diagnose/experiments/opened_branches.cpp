#include "vernier/diagnose/experiments/opened_branches.h"

#include <algorithm>

#include "vernier/base/error.h"
#include "vernier/diagnose/causes/distance.h"
#include "vernier/ir/clone.h"
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

// Leaves an If without branches.
std::pair<const Node*, std::unique_ptr<Graph>> take_branch(Graph& graph, const Node& node, bool holds) {
  for (const auto& each : graph.nodes()) {
    if (each.get() != &node) continue;
    auto regions = std::exchange(each->regions, {});
    for (auto& [name, region] : regions) {
      if (name == (holds ? "then_branch" : "else_branch")) return {&node, std::move(region)};
    }
  }
  throw bad_input("an If has no branch for its condition").at_node(node.name);
}

// Puts the nodes of a branch where the If is.
void open(Graph& graph, const Node& node, const Graph& branch, FreeNames& names, int64_t opset) {
  const auto& nodes = graph.nodes();
  auto position = static_cast<size_t>(
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == &node; }) -
      nodes.begin());
  ValueMap values;
  for (const auto& value : branch.values()) {
    Value* twin = graph.add_value(names.take(value->name), value->type);
    twin->constant = value->constant;
    values[value.get()] = twin;
  }
  for (const auto& inner : branch.nodes()) graph.add_node(clone(*inner, values, &graph), position++);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i] == nullptr) continue;
    const auto made = values.find(branch.outputs[i]);
    Value* result = made == values.end() ? branch.outputs[i] : made->second;
    auto same = make_node("Identity", opset, {result}, node.outputs[i]);
    same->provenance = node.provenance;
    graph.add_node(std::move(same), position++);
  }
  graph.remove_nodes({&node});
}

}  // namespace

std::optional<Model> with_open_branches(const Model& model, const NamedData& inputs) {
  constexpr int kDeepest = 16;
  std::optional<Model> result;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const Graph& now = result ? *result->graph : *model.graph;
    if (conditions_of(now, inputs).empty()) break;
    if (!result) result = clone(model);
    Graph& graph = *result->graph;
    std::vector<std::pair<const Node*, std::unique_ptr<Graph>>> taken;
    for (const auto& [node, holds] : conditions_of(graph, inputs))
      taken.push_back(take_branch(graph, *node, holds));
    FreeNames names(graph);  // those of branches are free now
    for (const auto& [node, branch] : taken) open(graph, *node, *branch, names, model.opset(""));
    ops::infer_types(graph);
  }
  return result;
}

std::unique_ptr<OpenedModel> opened(Subject& subject, const Model& model, const NamedData& inputs,
                                    const NamedData& plain, const NamedData& right) {
  try {
    auto open = with_open_branches(model, inputs);
    if (!open) return nullptr;
    auto made = std::make_unique<OpenedModel>();
    made->model = std::move(*open);
    made->subject = subject.on(made->model);
    if (!made->subject) return nullptr;
    constexpr double kPart = 0.02, kRounding = 1e-5;
    const double error = bounded_distance(plain, right, right);
    const double other = bounded_distance(made->subject->run(inputs), plain, right);
    return other <= std::max(kPart * error, kRounding) ? std::move(made) : nullptr;
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace vernier

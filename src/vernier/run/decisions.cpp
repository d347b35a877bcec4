#include "vernier/run/decisions.h"

#include <algorithm>

#include "vernier/run/dataflow.h"
#include "vernier/run/retaking.h"
#include "vernier/run/ties.h"

namespace vernier {

Decisions::Decisions(const Graph& graph) : graph_(graph) {
  for (const auto& node : graph.nodes()) {
    if (is_decision(*node) && decision_of(*node) != nullptr) all_.push_back(node.get());
  }
}

std::vector<const Node*> Decisions::behind(const std::set<std::string>& values) const {
  if (all_.empty()) return {};
  std::vector<const Node*> found = all_;
  const auto nodes = nodes_behind(graph_, values);
  std::erase_if(found, [&](const Node* node) { return !nodes.contains(node); });
  return found;
}

std::set<std::string> Decisions::results() const {
  std::set<std::string> names;
  for (const Node* node : all_) {
    if (!quantizes(*node)) names.insert(decision_of(*node)->name);
  }
  return names;
}

std::vector<std::string> Decisions::inside_bodies(const std::set<std::string>& values) const {
  std::vector<std::string> found;
  const auto behind = nodes_behind(graph_, values);
  for (const auto& node : graph_.nodes()) {
    if (node->regions.empty() || !behind.contains(node.get())) continue;
    for (const auto& [name, region] : node->regions) {
      for_each_graph(static_cast<const Graph&>(*region), [&](const Graph& body) {
        for (const auto& member : body.nodes()) {
          if (is_decision(*member))
            found.push_back(
                fmt::format("{} '{}' in {} '{}'", member->op, member->name, node->op, node->name));
        }
      });
    }
  }
  return found;
}

std::vector<std::string> Decisions::taps(const std::set<std::string>& values, bool quantized) const {
  std::vector<std::string> names;
  const auto add = [&](const Value* value) {
    if (value == nullptr || value->producer() == nullptr || &value->graph() != &value->producer()->graph())
      return;
    if (std::find(names.begin(), names.end(), value->name) == names.end()) names.push_back(value->name);
  };
  for (const Node* node : behind(values)) {
    if (quantizes(*node) && !quantized) continue;
    for (const Value* input : node->inputs) add(input);
    for (const Value* output : node->outputs) add(output);
  }
  return names;
}

std::optional<Retaken> Decisions::retake(const std::set<std::string>& values, const NamedData& inputs,
                                         const ReferenceWithValues& reference, const Trace& actual,
                                         const Disagreement& disagreement, const CompareOptions& options,
                                         bool quantized) const {
  const auto decisions = behind(values);
  Retaking retaking(inputs, reference, actual, disagreement, options);
  if (!retaking.can_run()) return std::nullopt;
  std::vector<std::pair<const Node*, Decision>> ties;
  for (const Node* node : decisions) {
    if (quantizes(*node) && !quantized) continue;
    std::optional<Decision> tie;
    if (!retaking.take(*node, tie)) return Retaken{std::nullopt, {}, retaking.clear()};
    if (tie) ties.emplace_back(node, std::move(*tie));
  }
  if (ties.empty()) return std::nullopt;
  Retaken result{std::move(retaking).trace(), {}, ""};
  for (const std::string& value : values) {
    const auto nodes = nodes_behind(graph_, {value});
    for (const auto& [node, tie] : ties) {
      if (nodes.contains(node)) result.decisions[value].push_back(tie);
    }
  }
  return result;
}

}  // namespace vernier

// B31, B47: an operand is another value or constant of the graph, of the same sizes: what is wired, bound or
// packed in its place.
#include <algorithm>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/diagnose/hypotheses/products/products.h"
#include "vernier/ir/clone.h"

namespace vernier {

namespace {

constexpr size_t kMost = 48;  // simulations of one operand
constexpr int64_t kLarge = 1 << 20;

// The names of the values that follow from what these nodes make: they are not there when the nodes read.
std::set<std::string> following(std::initializer_list<const Node*> nodes, const Graph& graph) {
  std::set<std::string> names;
  for (const Node* node : nodes) {
    for (const Value* result : node->outputs) {
      if (result != nullptr) names.insert(result->name);
    }
  }
  for (const auto& later : graph.nodes()) {
    const auto follows = [&](const Value* value) { return value != nullptr && names.contains(value->name); };
    const auto captured = captured_values(*later);
    if (!std::any_of(later->inputs.begin(), later->inputs.end(), follows) &&
        !std::any_of(captured.begin(), captured.end(), follows))
      continue;
    for (const Value* result : later->outputs) {
      if (result != nullptr) names.insert(result->name);
    }
  }
  return names;
}

// Lists values of the graph that could stand for an operand, without what follows from its own node's
// results.
std::vector<std::pair<const Value*, const Tensor*>> others_of(const Member& member, size_t operand,
                                                              const Node& flagged,
                                                              const HypothesisContext& context) {
  std::vector<std::pair<const Value*, const Tensor*>> others;
  const Value* own = member.node().inputs[operand];
  const auto later = following({&member.node(), &flagged}, context.graph);
  const ElementType type = member.declared(operand);
  for (const auto& value : context.graph.values()) {
    if (others.size() == kMost) break;
    if (value->name == own->name || value->is_constant() != member.is_constant(operand)) continue;
    const Tensor* content = later.contains(value->name) || !context.value ? nullptr : context.value(*value);
    if (content == nullptr || content->type() != type || content->dims() != member.in(operand).dims())
      continue;
    others.emplace_back(value.get(), content);
  }
  return others;
}

}  // namespace

void propose_other_values(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                          std::vector<Proposal>& proposals) {
  if (!member.node().regions.empty()) return;
  for (size_t i = 0; i < member.input_count(); ++i) {
    if (!member.has(i) || !is_float(member.in(i).type()) || member.in(i).size() < 2 ||
        member.in(i).size() > kLarge)
      continue;
    const bool is_weight = factors_of(member.node()) && member.is_constant(i) && member.in(i).rank() > 1;
    for (const auto& [value, content] : others_of(member, i, *flagged.node, context)) {
      proposals.push_back({FailureClass(is_weight ? 47 : 31),
                           fmt::format("operand {} ('{}') is '{}' in its place", i,
                                       member.node().inputs[i]->name, value->name),
                           [&member, i, content = content] {
                             const Tensor& like = member.in(i);
                             return member.with_input(
                                 i, Tensor::from_doubles(like.type(), like.dims(), content->to_doubles()));
                           },
                           {},
                           0,
                           false,
                           true});
    }
  }
}

}  // namespace vernier

#include "vernier/ops/group.h"

#include "vernier/base/hash.h"
#include "vernier/ir/clone.h"
#include "vernier/ir/hash.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ir/text.h"

namespace vernier::ops {

bool is_group(const Node& node) {
  return node.domain == kInternalDomain && node.op == "Group";
}

const Graph& body(const Node& group) {
  const Graph* graph = group.region("body");
  if (graph == nullptr) throw internal_error("a group without a body").at_node(group.name);
  return *graph;
}

std::string group_kind(const Node& group) {
  return group.attribute<std::string>("kind", "");
}

uint64_t structure_of(const Node& node) {
  uint64_t hash = hash_text(node.qualified_op(), static_cast<uint64_t>(node.version));
  for (const auto& [name, attribute] : node.attributes)
    hash = hash_text(name + "=" + attribute_text(attribute), hash);
  return is_group(node) ? hash_combine(hash, structural_hash(body(node))) : hash;
}

Node* make_group(Graph& graph, const std::vector<Node*>& members, const std::string& kind) {
  const std::set<const Node*> member_set(members.begin(), members.end());
  auto group = std::make_unique<Node>();
  group->name = members.back()->name;
  group->domain = kInternalDomain;
  group->op = "Group";
  group->version = 1;
  group->attributes["kind"] = Attribute(kind);
  auto inside = std::make_unique<Graph>(&graph);
  inside->name = kind;
  ValueMap values;
  for (Node* member : members) {
    for (Value* input : member->inputs) {
      if (input == nullptr || values.contains(input)) continue;
      values[input] = inside->add_input(input->name, input->type);
      group->inputs.push_back(input);
    }
    for (Value* output : member->outputs) {
      if (output != nullptr) values[output] = inside->add_value(output->name, output->type);
    }
    inside->add_node(clone(*member, values, inside.get()));
    for (Value* output : member->outputs) {
      if (output == nullptr || !is_read(graph, output, member_set)) continue;
      group->outputs.push_back(output);
      inside->outputs.push_back(values.at(output));
    }
  }
  group->regions.emplace_back("body", std::move(inside));
  Node* result = group.get();
  std::vector<std::unique_ptr<Node>> replacement;
  replacement.push_back(std::move(group));
  Rewriter(graph).replace(members, std::move(replacement));
  return result;
}

}  // namespace vernier::ops

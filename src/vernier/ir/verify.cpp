#include "vernier/ir/verify.h"

#include <unordered_set>

namespace vernier {

namespace {

using Visible = std::unordered_set<const Value*>;

// Nodes of this domain are made by engines (ops/group.h): they name all that their regions read as inputs,
// and keep the names of the nodes they stand for inside.
constexpr std::string_view kIsolatedDomain = "vernier";

class Verifier {
 public:
  void check(const Graph& graph, Visible visible) {
    for (const auto& value : graph.values()) {
      if (!value_names_.insert(value->name).second)
        throw internal_error("two values are named '{}'", value->name);
      if (&value->graph() != &graph)
        throw internal_error("value '{}' is listed in a graph that is not its own", value->name);
      if (value->producer() == nullptr && value->is_constant()) visible.insert(value.get());
    }
    for (const Value* input : graph.inputs) {
      if (input == nullptr || &input->graph() != &graph)
        throw internal_error("an input of graph '{}' is not its own", graph.name);
      if (input->producer() != nullptr)
        throw internal_error("input '{}' of graph '{}' has a producer", input->name, graph.name);
      visible.insert(input);
    }
    for (const auto& node : graph.nodes()) {
      try {
        check(*node, graph, visible);
      } catch (Error& error) {
        throw error.at_node(node->name);
      }
    }
    for (const Value* output : graph.outputs) {
      if (output == nullptr || !visible.contains(output)) {
        throw internal_error("output '{}' of graph '{}' is not made", output == nullptr ? "?" : output->name,
                             graph.name);
      }
    }
  }

 private:
  void check(const Node& node, const Graph& graph, Visible& visible) {
    if (!node_names_.insert(node.name).second) throw internal_error("another node has the same name");
    if (node.op.empty()) throw internal_error("has no operator");
    if (&node.graph() != &graph) throw internal_error("is listed in a graph that is not its own");
    for (const Value* input : node.inputs) {
      if (input != nullptr && !visible.contains(input))
        throw internal_error("reads '{}' before it is made", input->name);
    }
    for (const auto& [name, region] : node.regions) {
      if (region->parent() != &graph) throw internal_error("its region '{}' has another parent", name);
      if (node.domain == kIsolatedDomain)
        Verifier().check(*region, {});
      else
        check(*region, visible);
    }
    for (const Value* output : node.outputs) {
      if (output == nullptr) continue;
      if (output->producer() != &node)
        throw internal_error("its output '{}' has another producer", output->name);
      if (!visible.insert(output).second) throw internal_error("makes '{}' twice", output->name);
    }
  }

  std::unordered_set<std::string> value_names_, node_names_;
};

}  // namespace

void verify(const Graph& graph) {
  Verifier().check(graph, {});
}

}  // namespace vernier

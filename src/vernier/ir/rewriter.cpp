#include "vernier/ir/rewriter.h"

#include <algorithm>

namespace vernier {

bool is_read(const Graph& graph, const Value* value, const std::set<const Node*>& except) {
  bool read = false;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) {
      if (except.contains(node.get())) continue;
      read = read || std::find(node->inputs.begin(), node->inputs.end(), value) != node->inputs.end();
    }
    read = read || std::find(inner.outputs.begin(), inner.outputs.end(), value) != inner.outputs.end();
  });
  return read;
}

size_t Rewriter::position(const Node* wanted) const {
  const auto& nodes = graph_.nodes();
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.get() == wanted; });
  if (found == nodes.end()) throw internal_error("a node to replace is not in graph '{}'", graph_.name);
  return static_cast<size_t>(found - nodes.begin());
}

void Rewriter::replace(const std::vector<Node*>& old, std::vector<std::unique_ptr<Node>> replacement) {
  if (old.empty()) throw internal_error("nothing to replace");
  Provenance provenance;
  size_t first = graph_.nodes().size(), last = 0;
  for (const Node* node : old) {
    provenance.insert(node->provenance.begin(), node->provenance.end());
    first = std::min(first, position(node));
    last = std::max(last, position(node));
  }
  const std::set<const Node*> dead(old.begin(), old.end());
  std::set<const Value*> taken;
  for (const auto& node : replacement) taken.insert(node->outputs.begin(), node->outputs.end());
  std::set<const Value*> gone;
  for (const Node* node : old) {
    for (const Value* output : node->outputs) {
      if (output == nullptr) continue;
      if (!taken.contains(output)) {
        if (is_read(graph_, output, dead))
          throw internal_error("'{}' is still read, but no new node makes it", output->name)
              .at_node(node->name);
        gone.insert(output);
        continue;
      }
      // The new producer stands at `last`: nobody between may read the value.
      for (size_t i = first; i < last; ++i) {
        const Node* between = graph_.nodes()[i].get();
        if (!dead.contains(between) &&
            std::find(between->inputs.begin(), between->inputs.end(), output) != between->inputs.end()) {
          throw internal_error("'{}' would be read before it is made", output->name).at_node(between->name);
        }
      }
    }
  }
  size_t at = last + 1;
  for (auto& node : replacement) {
    node->provenance.insert(provenance.begin(), provenance.end());
    graph_.add_node(std::move(node), at++);
  }
  graph_.remove_nodes(dead);
  graph_.remove_values(gone);
}

bool Rewriter::forward(Node* node, Value* same) {
  Value* output = node->output(0);
  if (std::find(graph_.outputs.begin(), graph_.outputs.end(), output) != graph_.outputs.end()) return false;
  if (same->producer() != nullptr)
    same->producer()->provenance.insert(node->provenance.begin(), node->provenance.end());
  graph_.replace_uses(output, same);
  graph_.remove_nodes({node});
  graph_.remove_values({output});
  return true;
}

}  // namespace vernier

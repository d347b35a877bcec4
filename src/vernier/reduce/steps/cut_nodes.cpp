#include <algorithm>

#include "vernier/reduce/minimal_subset.h"
#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

class NodeCut {
 public:
  explicit NodeCut(Shrinking& shrinking)
      : shrinking_(shrinking), whole_(copy(shrinking.best())), known_(recorded_values(whole_)) {
    for (const auto& node : whole_.model.graph->nodes()) nodes_.push_back(node.get());
  }

  bool run() {
    std::vector<size_t> items(nodes_.size());
    for (size_t i = 0; i < items.size(); ++i) items[i] = i;
    if (auto found = around_first_wrong_value()) {
      items = std::move(*found);
    } else if (!shrinking_.has_kept()) {
      // Before many parts are tried.
      if (!shrinking_.offer(copy(whole_))) return false;
    }
    minimal_subset(items.size(), [&](const std::vector<size_t>& chosen) {
      std::vector<size_t> indices;
      indices.reserve(chosen.size());
      for (const size_t each : chosen) indices.push_back(items[each]);
      return offer(indices);
    });
    return true;
  }

 private:
  bool offer(const std::vector<size_t>& indices) {
    if (shrinking_.is_over()) return false;
    std::set<const Node*> nodes;
    for (const size_t index : indices) nodes.insert(nodes_[index]);
    auto candidate = extract(whole_.model, nodes, known_);
    return candidate && shrinking_.offer(std::move(*candidate));
  }

  // A few nodes that end with the one whose result is the first that is wrong: those that the engine computes
  // as one, or else more and more of those before it.
  std::optional<std::vector<size_t>> around_first_wrong_value() {
    if (nodes_.size() < 2) return std::nullopt;
    const auto names = shrinking_.oracle().first_wrong_nodes(whole_, known_, shrinking_.wanted());
    std::vector<size_t> group;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Node& node = *nodes_[i];
      const bool is_named = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return name == node.name || node.provenance.contains(name);
      });
      if (is_named) group.push_back(i);
    }
    if (group.empty() || group.size() == nodes_.size()) return std::nullopt;
    if (offer(group)) return group;
    constexpr size_t kWidest = 16;
    const size_t last = group.back();
    for (size_t width = 2; width <= kWidest && width <= last + 1; width *= 2) {
      std::vector<size_t> window;
      for (size_t i = last + 1 - width; i <= last; ++i) window.push_back(i);
      if (window != group && offer(window)) return window;
    }
    return std::nullopt;
  }

  Shrinking& shrinking_;
  const ReproCase whole_;
  const NamedData known_;
  std::vector<const Node*> nodes_;
};

}  // namespace

bool cut_nodes(Shrinking& shrinking) {
  if (shrinking.is_over()) return true;
  shrinking.begin("nodes");
  return NodeCut(shrinking).run() || shrinking.is_over();
}

}  // namespace vernier

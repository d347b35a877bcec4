#include <algorithm>
#include <set>

#include "vernier/diagnose/experiments/narrowing.h"
#include "vernier/ir/clone.h"

namespace vernier {

Borders::Borders(const Graph& graph) : graph_(graph) {
  const std::set<const Value*> outputs(graph.outputs.begin(), graph.outputs.end());
  std::map<const Value*, size_t> known;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = *graph.nodes()[i];
    auto read = captured_values(node);
    read.insert(read.end(), node.inputs.begin(), node.inputs.end());
    for (const Value* value : read) {
      if (const auto found = known.find(value); found != known.end()) spans_[found->second].read = i;
    }
    if (node.inputs.empty()) continue;
    for (const Value* value : node.outputs) {
      if (value == nullptr || outputs.contains(value)) continue;
      known[value] = spans_.size();
      spans_.push_back({i, i, value->name});
    }
  }
}

std::vector<std::string> Borders::at(size_t first) const {
  std::vector<std::string> values;
  for (const Span& span : spans_) {
    if (span.made < first && span.read >= first) values.push_back(span.name);
  }
  return values;
}

std::vector<std::string> Borders::behind(const std::string& value) const {
  const auto found =
      std::find_if(spans_.begin(), spans_.end(), [&](const Span& span) { return span.name == value; });
  return found == spans_.end() ? std::vector<std::string>() : at(found->made + 1);
}

}  // namespace vernier

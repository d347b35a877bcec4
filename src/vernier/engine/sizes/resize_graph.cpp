// Finds what of a graph at known sizes is different at others.
#include <algorithm>
#include <cstring>

#include "vernier/engine/sizes/ranged_graph.h"
#include "vernier/engine/sizes/size_evaluation.h"

namespace vernier {

namespace {

// Calls visit(value) for all that the node reads and makes, and for the values of its regions.
template <class Visit>
void for_each_value(const Node& node, const Visit& visit) {
  for (const auto* values : {&node.inputs, &node.outputs}) {
    for (const Value* value : *values) {
      if (value != nullptr) visit(*value);
    }
  }
  for (const auto& [name, region] : node.regions) {
    for_each_graph(std::as_const(*region), [&](const Graph& inner) {
      for (const auto& value : inner.values()) visit(*value);
    });
  }
}

// A copy has the nodes of the original in the same order.
void note_copies(const Node& node, const Node& copy, std::unordered_map<const Node*, const Node*>& copies) {
  copies[&node] = &copy;
  for (size_t r = 0; r < node.regions.size(); ++r) {
    const auto &inner = node.regions[r].second->nodes(), &twins = copy.regions[r].second->nodes();
    for (size_t i = 0; i < inner.size(); ++i) note_copies(*inner[i], *twins[i], copies);
  }
}

// A copy, and the nodes of its bodies.
void note_changed(const Node& copy, std::unordered_set<const Node*>& changed) {
  changed.insert(&copy);
  for (const auto& region : copy.regions) {
    for (const auto& inner : region.second->nodes()) note_changed(*inner, changed);
  }
}

// The sizes of a value, or the content of a constant, beside those that it has.
class Resizing {
 public:
  // False if what is known of the sizes is not what was.
  bool evaluate(const Value& value, const std::vector<Dim>& expressions, SizeEvaluation& at) {
    return value.is_constant() ? evaluate_content(*value.constant, expressions, at)
                               : evaluate_shape(*value.type.tensor.shape, expressions, at);
  }

  bool changes() const { return !shape_.empty() || content_; }

  void apply(Value& value) const {
    if (content_)
      value.constant = *content_;
    else if (!shape_.empty())
      value.type.tensor.shape = shape_;
  }

 private:
  bool evaluate_content(const Tensor& had, const std::vector<Dim>& elements, SizeEvaluation& at) {
    auto content = at.tensor(elements, had);
    if (!content) return false;
    if (std::memcmp(content->raw(), had.raw(), had.byte_size()) != 0) content_ = std::move(*content);
    return true;
  }

  bool evaluate_shape(const Shape& had, const std::vector<Dim>& sizes, SizeEvaluation& at) {
    for (size_t axis = 0; axis < had.size(); ++axis) {
      const auto size = at.value(sizes[axis]);
      if (size.has_value() != had[axis].is_constant()) return false;
      if (!size || *size == had[axis].constant()) continue;
      if (shape_.empty()) shape_ = had;
      shape_[axis] = *size;
    }
    return true;
  }

  Shape shape_;  // empty if it is the one there is
  std::optional<Tensor> content_;
};

// No expressions tell the sizes of an input whose rank the graph leaves open.
bool has_inputs(const SizedGraph& from, const ResizedNodes& nodes, const std::vector<ValueType>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* input = from.graph->inputs[i];
    const auto copy = nodes.values.find(input);
    if ((copy == nodes.values.end() ? input : copy->second)->type != inputs[i]) return false;
  }
  return true;
}

Value* copied(const Value& value, Graph& graph) {
  Value* copy = graph.add_value(value.name, value.type);
  copy->constant = value.constant;
  return copy;
}

// Finds followers of the symbols that have another value, in order.
std::vector<size_t> followers_of(const SizedGraph& from, const SymbolValues& before,
                                 const SymbolValues& now) {
  std::vector<size_t> followers;
  int symbols = 0;
  for (const auto& [symbol, value] : now) {
    const auto had = before.find(symbol);
    if (had != before.end() && had->second == value) continue;
    const auto found = from.followers_of.find(symbol);
    if (found == from.followers_of.end()) continue;
    followers.insert(followers.end(), found->second.begin(), found->second.end());
    ++symbols;
  }
  if (symbols < 2) return followers;
  std::sort(followers.begin(), followers.end());
  followers.erase(std::unique(followers.begin(), followers.end()), followers.end());
  return followers;
}

}  // namespace

SizedGraph RangedGraph::sized(std::unique_ptr<Graph> copy, const ValueMap& copies,
                              SymbolValues symbols) const {
  SizedGraph sized;
  sized.symbols = std::move(symbols);
  std::unordered_map<const Value*, size_t> followers;
  const auto add = [&](const Value* of, const std::vector<Dim>& expressions) {
    if (std::all_of(expressions.begin(), expressions.end(), [](const Dim& dim) { return dim.is_constant(); }))
      return;
    const Value* value = copies.at(of);
    const size_t index = sized.followers.size();
    followers.emplace(value, index);
    sized.followers.push_back({value, &expressions, {}});
    std::set<std::string> found;
    for (const Dim& dim : expressions) found.merge(dim.symbols());
    for (const std::string& symbol : found) sized.followers_of[symbol].push_back(index);
  };
  for (const Content& content : contents_) add(content.value, content.elements);
  for_each_graph(std::as_const(*graph_), [&](const Graph& inner) {
    for (const auto& value : inner.values()) {
      if (!value->is_constant() && value->type.is_tensor() && value->type.tensor.shape)
        add(value.get(), *value->type.tensor.shape);
    }
  });
  for (const auto& node : copy->nodes()) {
    SizedGraph::Reader reader{node.get(), {}};
    for_each_value(*node, [&](const Value& value) {
      if (const auto found = followers.find(&value); found != followers.end())
        reader.followers.push_back(found->second);
    });
    if (reader.followers.empty()) continue;
    for (const size_t follower : reader.followers)
      sized.followers[follower].readers.push_back(sized.readers.size());
    sized.readers.push_back(std::move(reader));
  }
  sized.graph = std::move(copy);
  return sized;
}

std::optional<ResizedNodes> RangedGraph::resize(const SizedGraph& from,
                                                const std::vector<ValueType>& inputs) const {
  auto symbols = this->symbols(inputs);
  if (!symbols) return std::nullopt;
  SizeEvaluation evaluation(*symbols);
  ResizedNodes resized;
  resized.graph = std::make_shared<Graph>();
  resized.symbols = std::move(*symbols);
  std::vector<Resizing> resizings(from.followers.size());
  ValueMap copies;
  const auto is_inside = [&](const Value& value) { return &value.graph() != from.graph.get(); };  // a group
  for (size_t i = 0; i < resizings.size(); ++i) {
    const Value& value = *from.followers[i].value;
    if (!resizings[i].evaluate(value, *from.followers[i].expressions, evaluation)) return std::nullopt;
    if (!resizings[i].changes() || is_inside(value)) continue;
    resized.changed_values.push_back(&value);
    resizings[i].apply(*(copies[&value] = copied(value, *resized.graph)));
  }
  for (const SizedGraph::Reader& reader : from.readers) {
    const auto changes = [&](size_t i) { return resizings[i].changes(); };
    if (std::none_of(reader.followers.begin(), reader.followers.end(), changes)) continue;
    // A copy makes values of its own: the others may be in use.
    for (const Value* output : reader.node->outputs) {
      if (output != nullptr && !copies.contains(output)) copies[output] = copied(*output, *resized.graph);
    }
    const Node& copy = *resized.graph->add_node(clone(*reader.node, copies, resized.graph.get()));
    for (const size_t i : reader.followers) {
      const Value& value = *from.followers[i].value;
      if (!is_inside(value) || !resizings[i].changes()) continue;
      resized.changed_values.push_back(&value);
      resizings[i].apply(*copies.at(&value));
    }
    note_copies(*reader.node, copy, resized.nodes);
    note_changed(copy, resized.changed);
  }
  resized.values.insert(copies.begin(), copies.end());
  if (!has_inputs(from, resized, inputs) || !fits(*resized.graph)) return std::nullopt;
  return resized;
}

bool RangedGraph::resize_again(const SizedGraph& from, const std::vector<ValueType>& inputs,
                               ResizedNodes& nodes) const {
  auto symbols = this->symbols(inputs);
  if (!symbols) return false;
  const auto followers = followers_of(from, nodes.symbols, *symbols);
  SizeEvaluation evaluation(*symbols);
  nodes.symbols = std::move(*symbols);
  nodes.changed_values.clear();
  std::vector<bool> readers(from.readers.size());
  for (const size_t i : followers) {
    const SizedGraph::Follower& follower = from.followers[i];
    const auto copy = nodes.values.find(follower.value);
    Resizing resizing;
    if (!resizing.evaluate(copy == nodes.values.end() ? *follower.value : *copy->second,
                           *follower.expressions, evaluation))
      return false;
    if (!resizing.changes()) continue;
    if (copy == nodes.values.end()) return false;
    resizing.apply(*copy->second);
    nodes.changed_values.push_back(follower.value);
    for (const size_t reader : follower.readers) readers[reader] = true;
  }
  // Mostly the same as the last time, when something grows.
  if (readers != nodes.changed_readers) {
    nodes.changed.clear();
    for (size_t reader = 0; reader < readers.size(); ++reader) {
      if (!readers[reader]) continue;
      const auto copy = nodes.nodes.find(from.readers[reader].node);
      if (copy == nodes.nodes.end()) return false;
      note_changed(*copy->second, nodes.changed);
    }
    nodes.changed_readers = std::move(readers);
  }
  return has_inputs(from, nodes, inputs) && fits(*nodes.graph, &nodes.changed);
}

}  // namespace vernier

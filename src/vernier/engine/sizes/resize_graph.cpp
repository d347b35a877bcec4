// What of a graph at known sizes is different at others.
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

// The sizes of a value, or the content of a constant, beside those that it has.
class Resizing {
 public:
  // False if what is known of the sizes is not what was.
  bool evaluate(const SizedGraph::Follower& follower, SizeEvaluation& at) {
    const Value& value = *follower.value;
    return value.is_constant() ? evaluate_content(*value.constant, *follower.expressions, at)
                               : evaluate_shape(*value.type.tensor.shape, *follower.expressions, at);
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

Value* copied(const Value& value, Graph& graph) {
  Value* copy = graph.add_value(value.name, value.type);
  copy->constant = value.constant;
  return copy;
}

}  // namespace

SizedGraph RangedGraph::sized(std::unique_ptr<Graph> copy, const ValueMap& copies,
                              SymbolValues symbols) const {
  SizedGraph sized{nullptr, std::move(symbols), {}, {}};
  std::unordered_map<const Value*, size_t> followers;
  const auto add = [&](const Value* of, const std::vector<Dim>& expressions) {
    if (std::all_of(expressions.begin(), expressions.end(), [](const Dim& dim) { return dim.is_constant(); }))
      return;
    const Value* value = copies.at(of);
    followers.emplace(value, sized.followers.size());
    sized.followers.push_back({value, &expressions});
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
    if (!reader.followers.empty()) sized.readers.push_back(std::move(reader));
  }
  sized.graph = std::move(copy);
  return sized;
}

std::optional<ResizedNodes> RangedGraph::resize(const SizedGraph& from,
                                                const std::vector<ValueType>& inputs) const {
  auto symbols = this->symbols(inputs);
  if (!symbols) return std::nullopt;
  SizeEvaluation evaluation(std::move(*symbols));
  ResizedNodes resized{std::make_unique<Graph>(), {}, {}};
  std::vector<Resizing> resizings(from.followers.size());
  ValueMap copies;
  const auto is_inside = [&](const Value& value) { return &value.graph() != from.graph.get(); };  // a group
  for (size_t i = 0; i < resizings.size(); ++i) {
    const Value& value = *from.followers[i].value;
    if (!resizings[i].evaluate(from.followers[i], evaluation)) return std::nullopt;
    if (!resizings[i].changes() || is_inside(value)) continue;
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
      if (is_inside(value)) resizings[i].apply(*copies.at(&value));
    }
    note_copies(*reader.node, copy, resized.nodes);
  }
  // Of an input whose rank the graph leaves open no expressions tell.
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value* input = from.graph->inputs[i];
    const auto copy = copies.find(input);
    if ((copy == copies.end() ? input : copy->second)->type != inputs[i]) return std::nullopt;
  }
  if (!fits(*resized.graph)) return std::nullopt;
  resized.values.insert(copies.begin(), copies.end());
  return resized;
}

}  // namespace vernier

#include "vernier/precision/asked/retype_nodes.h"

#include <unordered_set>

#include "vernier/ops/group.h"
#include "vernier/passes/build.h"
#include "vernier/passes/uses.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

// Attributes that say what type a node makes or computes in.
constexpr const char* kTypeAttributes[] = {"to",           "dtype",      "output_datatype",
                                           "output_dtype", "stash_type", "softmax_precision"};

bool is_narrow(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

// The names of added Casts end with this.
constexpr std::string_view kAddedCast = "/cast";

// Skips the nodes in groups, which are changed where the group is made.
void add_model_graphs(Graph& graph, std::vector<Graph*>& graphs) {
  graphs.push_back(&graph);
  for (const auto& node : graph.nodes()) {
    if (ops::is_group(*node)) continue;
    for (const auto& [name, region] : node->regions) add_model_graphs(*region, graphs);
  }
}

// All graphs are found before the first visit, which may add nodes: what a branch reads from around it gets
// its Cast there.
template <class Visit>
void for_each_model_graph(Graph& graph, const Visit& visit) {
  std::vector<Graph*> graphs;
  add_model_graphs(graph, graphs);
  for (Graph* each : graphs) visit(*each);
}

class Retyping {
 public:
  Retyping(Graph& graph, const AskedTypes& asked, int64_t opset)
      : root_(graph), asked_(asked), opset_(opset), names_(graph) {
    for_each_graph(graph, [&](const Graph& inner) {
      for (const auto& node : inner.nodes()) node_names_.insert(node->name);
    });
  }

  int run() {
    for_each_model_graph(root_, [&](Graph& graph) { choose(graph); });
    if (chosen_.empty()) return 0;
    std::vector<Node*> others;
    for_each_model_graph(root_, [&](Graph& graph) {
      std::vector<Node*> nodes;
      for (const auto& node : graph.nodes()) nodes.push_back(node.get());
      for (Node* node : nodes) {
        if (chosen_.contains(node))
          retype(*node);
        else if (takes_any_float(*node))
          others.push_back(node);
      }
    });
    for (Node* node : others) read_wide(*node);
    return static_cast<int>(chosen_.size());
  }

 private:
  // The nodes that are wanted, and those between them that hand elements on.
  void choose(const Graph& graph) {
    const Uses uses(graph);
    const auto chosen = [&](const Node* node) { return node != nullptr && chosen_.contains(node); };
    std::unordered_set<const Node*> reached;
    for (const auto& node : graph.nodes()) {
      if (is_added_cast(*node)) continue;
      if (asked_.wants_other_floats(*node)) chosen_.insert(node.get());
      const bool follows = !asked_.concerns(*node) && node->regions.empty() && !states_type(*node) &&
                           selects_elements(*node) && is_narrow(element_of(main_output(*node)));
      if (follows && std::any_of(node->inputs.begin(), node->inputs.end(), [&](const Value* input) {
            const Node* maker = input == nullptr ? nullptr : input->producer();
            return is_narrow(element_of(input)) && (chosen(maker) || reached.contains(maker));
          }))
        reached.insert(node.get());
    }
    for (size_t i = graph.nodes().size(); i-- > 0;) {
      const Node& node = *graph.nodes()[i];
      if (!reached.contains(&node)) continue;
      for (const Value* output : node.outputs) {
        const auto readers = output == nullptr ? std::span<Node* const>() : uses.readers(output);
        if (std::any_of(readers.begin(), readers.end(), chosen)) chosen_.insert(&node);
      }
    }
  }

  void retype(Node& node) {
    const ElementType declared = element_of(main_output(node));
    const auto changes = [&](ElementType type) { return is_narrow(type) || type == declared; };
    if (takes_any_float(node)) {
      read_wide(node);
    } else {
      for (Value*& input : node.inputs) {
        if (changes(element_of(input))) input = wide(input, node);
      }
    }
    state(node, declared);
    for (Value* output : node.outputs) {
      if (changes(element_of(output))) give(*output, node);
    }
  }

  void state(Node& node, ElementType declared) {
    if (const Attribute* value = node.find_attribute("value");
        value != nullptr && std::holds_alternative<Tensor>(value->value())) {
      const Tensor& held = std::get<Tensor>(value->value());
      if (held.type() == declared) node.attributes["value"] = Attribute(as_f32(held));
    }
    for (const char* name : kTypeAttributes) {
      const Attribute* type = node.find_attribute(name);
      if (type == nullptr || !std::holds_alternative<int64_t>(type->value())) continue;
      const auto stated = static_cast<ElementType>(std::get<int64_t>(type->value()));
      if (stated == declared || is_narrow(stated))
        node.attributes[name] = Attribute(static_cast<int64_t>(ElementType::kFloat));
    }
  }

  void read_wide(Node& node) {
    for (Value*& input : node.inputs) {
      if (const auto known = wide_.find(input); known != wide_.end()) input = known->second;
    }
  }

  static Tensor as_f32(const Tensor& tensor) {
    return Tensor::from_doubles(ElementType::kFloat, tensor.dims(), tensor.to_doubles());
  }

  Value* wide(Value* value, const Node& reader) {
    Value*& known = wide_[value];
    if (known != nullptr) return known;
    Graph& graph = value->graph();
    const std::string name = names_.take(value->name + "/f32");
    if (const auto content = known_content(value)) return known = graph.add_constant(name, as_f32(*content));
    known = graph.add_value(name, value->type);
    known->type.tensor.element = ElementType::kFloat;
    add_cast(value, known, reader);
    return known;
  }

  // Makes the node's result f32, and gives the former type to its readers by a Cast behind it. The f32 keeps
  // the name, unless that is the name of an output.
  void give(Value& output, const Node& node) {
    Graph& graph = node.graph();
    const bool is_output =
        std::find(graph.outputs.begin(), graph.outputs.end(), &output) != graph.outputs.end();
    Value* narrow = graph.add_value("", output.type);
    graph.replace_uses(&output, narrow);
    const std::string type(element_type_short_name(element_of(&output)));
    if (is_output) {
      narrow->name = std::exchange(output.name, names_.take(output.name + "/f32"));
      narrow->declared = output.declared;
    } else {
      narrow->name = names_.take(output.name + "/" + type);
    }
    output.type.tensor.element = ElementType::kFloat;
    output.declared.reset();
    add_cast(&output, narrow, node);
    wide_[narrow] = &output;
  }

  // Behind what makes the value. The Cast belongs to the node for which it is made.
  void add_cast(Value* from, Value* to, const Node& owner) {
    auto cast = make_node("Cast", opset_, {from}, to);
    while (!node_names_.insert(cast->name + std::string(kAddedCast)).second) cast->name += "'";
    cast->name += kAddedCast;
    cast->attributes["to"] = Attribute(static_cast<int64_t>(element_of(to)));
    cast->provenance = onnx_nodes(owner);
    Graph& graph = from->graph();
    const auto& nodes = graph.nodes();
    const auto maker = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const auto& node) { return node.get() == from->producer(); });
    const size_t behind = maker == nodes.end() ? 0 : static_cast<size_t>(maker - nodes.begin()) + 1;
    graph.add_node(std::move(cast), behind);
  }

  Graph& root_;
  const AskedTypes& asked_;
  int64_t opset_;
  FreeNames names_;
  std::set<std::string> node_names_;
  std::unordered_set<const Node*> chosen_;
  std::unordered_map<const Value*, Value*> wide_;  // of a value, the same as f32
};

}  // namespace

bool is_added_cast(const Node& node) {
  return node.op == "Cast" && node.domain.empty() && node.name.ends_with(kAddedCast) &&
         !onnx_nodes(node).contains(node.name);
}

Pass retype_nodes(AskedTypes asked, int64_t opset) {
  return {"retype-nodes", NumericalClass::kReassociating,
          [asked = std::move(asked), opset](Graph& graph) { return Retyping(graph, asked, opset).run(); }};
}

}  // namespace vernier

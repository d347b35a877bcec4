#include "vernier/precision/apply.h"

#include "vernier/ir/clone.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/precision/calibration.h"
#include "vernier/precision/node_class.h"

namespace vernier {

namespace {

constexpr int64_t kCastOpset = 13, kQuantiseOpset = 13;

class TypedGraph {
 public:
  // `names` are those of all values of the model.
  TypedGraph(Graph& graph, const PrecisionPlan& plan, std::set<std::string>& names)
      : graph_(graph), plan_(plan), names_(names) {}

  int run() {
    std::vector<Node*> nodes;
    for (const auto& node : graph_.nodes()) nodes.push_back(node.get());
    for (Node* node : nodes) visit(*node);
    if (changed_ == 0) return 0;
    std::unordered_map<const Node*, size_t> position;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) position[graph_.nodes()[i].get()] = i;
    std::vector<size_t> order;
    for (const Node* node : order_) order.push_back(position.at(node));
    graph_.reorder(order);
    return changed_;
  }

 private:
  void visit(Node& node) {
    const auto layer = plan_.strictest(node);
    const bool lowers = layer && has_f32_output(node);
    // A contraction is typed by what it multiplies, anything else by what it stores: it computes floats.
    const bool contraction = class_of(node).lowering == Lowering::kAlways;
    ElementType type = !lowers ? ElementType::kFloat : contraction ? layer->compute : layer->store;
    if (type != ElementType::kFloat16 && type != ElementType::kBFloat16) type = ElementType::kFloat;
    if (lowers && layer->compute == ElementType::kInt8 && !layer->quant.empty())
      quantise_inputs(node, layer->quant);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Value*& input = node.inputs[i];
      if (input == nullptr || reads_sizes_only(node)) continue;
      if (element_of(input) == ElementType::kFloat)
        input = read(input, shares_type(node, i) ? type : ElementType::kFloat);
    }
    order_.push_back(&node);
    if (!lowers) return;
    for (Value* output : node.outputs) {
      if (output == nullptr || element_of(output) != ElementType::kFloat) continue;
      if (type != ElementType::kFloat)
        make_narrow(output, type);
      else if (layer->store == ElementType::kFloat16 || layer->store == ElementType::kBFloat16)
        round(output, layer->store);
    }
  }

  static bool has_f32_output(const Node& node) {
    return node.regions.empty() &&
           std::any_of(node.outputs.begin(), node.outputs.end(),
                       [](const Value* output) { return element_of(output) == ElementType::kFloat; });
  }

  // The value in a type; f32 is what it was.
  Value* read(Value* value, ElementType type) {
    if (type == ElementType::kFloat) return value;
    Value*& known = narrow_[{value, type}];
    if (known != nullptr) return known;
    if (value->is_constant() && value->producer() == nullptr && !is_input(value)) {
      known = graph_.add_constant(name_of(value, type), Tensor::from_doubles(type, value->constant->dims(),
                                                                             value->constant->to_doubles()));
      ++changed_;
    } else {
      known = graph_.add_value(name_of(value, type), value->type);
      known->type.tensor.element = type;
      add_cast(value, known);
    }
    return known;
  }

  static bool is_input(const Value* value) {
    const auto& inputs = value->graph().inputs;
    return std::find(inputs.begin(), inputs.end(), value) != inputs.end();
  }

  std::string free_name(const Value* value, std::string_view suffix) {
    std::string name = fmt::format("{}/{}", value->name, suffix);
    while (!names_.insert(name).second) name += "'";
    return name;
  }
  std::string name_of(const Value* value, ElementType type) {
    return free_name(value, element_type_short_name(type));
  }

  Node* add_node(const std::string& op, int64_t version, std::vector<Value*> inputs, Value* output,
                 const Provenance& provenance) {
    auto node = std::make_unique<Node>();
    node->name = output->name;
    node->op = op;
    node->version = version;
    node->inputs = std::move(inputs);
    node->outputs = {output};
    node->provenance = provenance;
    order_.push_back(node.get());
    ++changed_;
    return graph_.add_node(std::move(node));
  }

  void add_cast(Value* from, Value* to) {
    const Provenance none;
    Node* cast = add_node("Cast", kCastOpset, {from}, to,
                          from->producer() == nullptr ? none : from->producer()->provenance);
    cast->name += "/cast";
    cast->attributes["to"] = Attribute(static_cast<int64_t>(element_of(to)));
  }

  // The value that a node makes becomes narrow; a reader that takes floats gets it
  // upcast, under its old name.
  void make_narrow(Value* output, ElementType type) {
    Value* wide = graph_.add_value("", output->type);
    graph_.replace_uses(output, wide);
    wide->name = output->name;
    wide->declared = output->declared;
    output->name = name_of(output, type);
    output->type.tensor.element = type;
    output->declared.reset();
    add_cast(output, wide);
    narrow_[{wide, type}] = output;
  }

  // The value stays what it is, but is rounded to a type before anybody reads it.
  void round(Value* output, ElementType type) {
    Value* exact = output;
    Value* wide = graph_.add_value("", output->type);
    graph_.replace_uses(exact, wide);
    wide->name = output->name;
    exact->name = free_name(wide, "exact");
    Value* narrow = graph_.add_value(name_of(wide, type), output->type);
    narrow->type.tensor.element = type;
    add_cast(exact, narrow);
    add_cast(narrow, wide);
    narrow_[{wide, type}] = narrow;
  }

  void quantise_inputs(Node& node, const std::vector<InputScale>& scales) {
    for (const InputScale& each : scales) {
      if (each.input < node.inputs.size() && element_of(node.inputs[each.input]) == ElementType::kFloat)
        node.inputs[each.input] = quantised(node.inputs[each.input], each);
    }
    Value* weights = node.input(1);
    if (weights == nullptr || !weights->is_constant() || element_of(weights) != ElementType::kFloat) return;
    const bool rows = node.op == "Conv" || ops::integer_attribute(node, "transB") != 0;
    const int64_t axis = rows ? 0 : weights->constant->rank() - 1;
    Value*& known = weights_[{weights, axis}];
    if (known == nullptr) {
      const auto codes = quantise_weights(*weights->constant, axis);
      known = dequantised(graph_.add_constant(free_name(weights, "i8"), codes.values),
                          graph_.add_constant(free_name(weights, "scales"), codes.scales), nullptr, axis,
                          weights, node.provenance);
    }
    node.inputs[1] = known;
  }

  Value* quantised(Value* value, const InputScale& scale) {
    Value*& known = quantised_[{value, scale.scale}];
    if (known != nullptr) return known;
    const Provenance provenance = value->producer() == nullptr ? Provenance{} : value->producer()->provenance;
    Value* by =
        graph_.add_constant(free_name(value, "scale"),
                            Tensor::from<float>(ElementType::kFloat, {}, {static_cast<float>(scale.scale)}));
    Value* zero =
        graph_.add_constant(free_name(value, "zero_point"),
                            Tensor::from_ints(scale.type, {}, std::vector<int64_t>{scale.zero_point}));
    Value* codes = graph_.add_value(name_of(value, scale.type), value->type);
    codes->type.tensor.element = scale.type;
    add_node("QuantizeLinear", kQuantiseOpset, {value, by, zero}, codes, provenance);
    known = dequantised(codes, by, zero, 0, value, provenance);
    return known;
  }

  Value* dequantised(Value* codes, Value* scale, Value* zero, int64_t axis, const Value* original,
                     const Provenance& provenance) {
    Value* result = graph_.add_value(free_name(original, "dequantised"), original->type);
    std::vector<Value*> inputs{codes, scale};
    if (zero != nullptr) inputs.push_back(zero);
    Node* node = add_node("DequantizeLinear", kQuantiseOpset, std::move(inputs), result, provenance);
    node->attributes["axis"] = Attribute(axis);
    return result;
  }

  Graph& graph_;
  const PrecisionPlan& plan_;
  std::set<std::string>& names_;
  std::map<std::pair<const Value*, ElementType>, Value*> narrow_;
  std::map<std::pair<const Value*, double>, Value*> quantised_;
  std::map<std::pair<const Value*, int64_t>, Value*> weights_;
  std::vector<const Node*> order_;
  int changed_ = 0;
};

}  // namespace

Pass apply_precision(PrecisionPlan plan) {
  return {"apply-precision", NumericalClass::kNarrowing, [plan = std::move(plan)](Graph& graph) {
            std::set<std::string> names;
            for_each_graph(graph, [&](const Graph& inner) {
              for (const auto& value : inner.values()) names.insert(value->name);
            });
            int changed = 0;
            for_each_graph(graph, [&](Graph& inner) { changed += TypedGraph(inner, plan, names).run(); });
            return changed;
          }};
}

}  // namespace vernier

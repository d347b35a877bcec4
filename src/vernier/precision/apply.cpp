#include "vernier/precision/apply.h"

#include "vernier/ir/clone.h"
#include "vernier/ops/tf32.h"
#include "vernier/passes/build.h"
#include "vernier/precision/asked/retype_nodes.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/quantized_weights.h"

namespace vernier {

namespace {

bool is_narrow(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBFloat16;
}

bool has_f32_output(const Node& node) {
  return node.regions.empty() &&
         std::any_of(node.outputs.begin(), node.outputs.end(),
                     [](const Value* output) { return element_of(output) == ElementType::kFloat; });
}

class TypedGraph {
 public:
  // `names` are those of all values of the model.
  TypedGraph(Graph& graph, const PrecisionPlan& plan, const TypingOptions& options,
             std::set<std::string>& names)
      : graph_(graph), plan_(plan), options_(options), names_(names) {}

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
    const bool lowers = layer && has_f32_output(node) && !is_added_cast(node);
    ElementType type = narrow_type(node, plan_), operands = ElementType::kFloat;
    if (is_narrow(type) && (!takes(node, type) || multiplies_narrow_into_wide(*layer))) {
      if (class_of(node).lowering == Lowering::kAlways) operands = type;
      type = ElementType::kFloat;
    }
    if (lowers && layer->compute == ElementType::kInt8 && !layer->quant.empty())
      quantize_inputs(node, layer->quant);
    if (lowers && layer->weight_block > 0) quantize_weights_of(node, layer->weight_block);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      Value*& input = node.inputs[i];
      if (input == nullptr || element_of(input) != ElementType::kFloat) continue;
      if (options_.for_onnx && takes_any_float(node)) input = without_cast(input);
      if (reads_sizes_only(node) || element_of(input) != ElementType::kFloat) continue;
      if (is_narrow(operands))
        input = rounded(input, operands);
      else
        input = read(input, shares_type(node, i) ? type : ElementType::kFloat);
    }
    order_.push_back(&node);
    if (!lowers) return;
    const bool multiplies_floats = type == ElementType::kFloat && !is_narrow(operands) && !options_.for_onnx;
    if (layer->tf32 && multiplies_floats && class_of(node).lowering == Lowering::kAlways) {
      ops::let_round_to_tf32(node);
      ++changed_;
    }
    for (Value* output : node.outputs) {
      if (output == nullptr || element_of(output) != ElementType::kFloat) continue;
      if (type != ElementType::kFloat)
        make_narrow(output, type);
      else if (is_narrow(layer->store))
        round(output, layer->store);
    }
  }

  bool takes(const Node& node, ElementType type) const {
    if (!options_.for_onnx) return true;
    const auto opset = opset_of_type(node, type);
    return opset && *opset <= options_.opset;
  }

  // Gives the value before a Cast made floats of it.
  Value* without_cast(Value* value) const {
    for (const ElementType type : {ElementType::kFloat16, ElementType::kBFloat16}) {
      const auto known = narrow_.find({value, type});
      if (known != narrow_.end() && value->producer() != nullptr &&
          value->producer()->input(0) == known->second)
        return known->second;
    }
    return value;
  }

  // An engine keeps the sums as they are; ONNX ties the type of a result to that of the operands.
  bool multiplies_narrow_into_wide(const LayerPrecision& layer) const {
    return options_.for_onnx && is_narrow(layer.compute) && layer.store == ElementType::kFloat;
  }

  // The content of a constant; that of a Constant node only where ONNX is written: engines fold such nodes.
  std::optional<Tensor> constant_of(const Value* value) const {
    return options_.for_onnx || value->producer() == nullptr ? known_content(value) : std::nullopt;
  }

  // The value in a type; f32 is what it was.
  Value* read(Value* value, ElementType type) {
    if (type == ElementType::kFloat) return value;
    Value*& known = narrow_[{value, type}];
    if (known != nullptr) return known;
    if (const auto constant = constant_of(value)) {
      known = graph_.add_constant(name_of(value, type),
                                  Tensor::from_doubles(type, constant->dims(), constant->to_doubles()));
      ++changed_;
    } else {
      known = graph_.add_value(name_of(value, type), value->type);
      known->type.tensor.element = type;
      add_cast(value, known);
    }
    return known;
  }

  // The value as floats that a narrow type holds.
  Value* rounded(Value* value, ElementType type) {
    Value*& known = rounded_[{value, type}];
    if (known != nullptr) return known;
    Value* narrow = read(value, type);
    const Node* maker = value->producer();
    if (maker != nullptr && maker->op == "Cast" && maker->input(0) == narrow) return known = value;
    known = graph_.add_value(free_name(value, "rounded"), value->type);
    add_cast(narrow, known);
    return known;
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
    Node* cast = add_node("Cast", options_.opset, {from}, to,
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
    wide->declared = std::exchange(exact->declared, std::nullopt);
    exact->name = free_name(wide, "exact");
    Value* narrow = graph_.add_value(name_of(wide, type), output->type);
    narrow->type.tensor.element = type;
    add_cast(exact, narrow);
    add_cast(narrow, wide);
    narrow_[{wide, type}] = narrow;
  }

  void quantize_inputs(Node& node, const std::vector<InputScale>& scales) {
    for (const InputScale& each : scales) {
      if (each.input < node.inputs.size() && element_of(node.inputs[each.input]) == ElementType::kFloat)
        node.inputs[each.input] = quantized(node.inputs[each.input], each);
    }
    quantize_weights_of(node, 0);
  }

  // To i8 for each output channel, or to i4 in blocks.
  void quantize_weights_of(Node& node, int64_t block) {
    Value* weights = node.input(1);
    if (weights == nullptr || element_of(weights) != ElementType::kFloat) return;
    const auto constant = weights->is_constant() ? weights->constant : constant_of(weights);
    if (!constant || constant->rank() == 0 || class_of(node).lowering != Lowering::kAlways) return;
    if (block > 0 && !has_block_weights(node)) return;
    std::vector<double> least;
    if (block == 0)
      least = least_weight_scales(
          node, constant->dims().at(static_cast<size_t>(output_axis(node, constant->rank()))));
    const QuantizedWeights codes = quantize_weights(node, *constant, block, least);
    // Who shares weights, but adds another bias, may need other scales.
    Value*& known = weights_[{weights, codes.axis, block, codes.scales.to_doubles()}];
    if (known == nullptr) known = dequantized(weights, codes, node.provenance);
    node.inputs[1] = known;
  }

  Value* dequantized(const Value* weights, const QuantizedWeights& codes, const Provenance& provenance) {
    Value* values = graph_.add_constant(name_of(weights, codes.values.type()), codes.values);
    Value* scales = graph_.add_constant(free_name(weights, "scales"), codes.scales);
    Value* zeros = !options_.for_onnx ? nullptr
                                      : graph_.add_constant(free_name(weights, "zero_points"),
                                                            Tensor(codes.values.type(), codes.scales.dims()));
    Value* result = dequantized(values, scales, zeros, codes.axis, weights, provenance);
    if (codes.block > 0) result->producer()->attributes["block_size"] = Attribute(codes.block);
    return result;
  }

  Value* quantized(Value* value, const InputScale& scale) {
    Value*& known = quantized_[{value, scale.type, scale.scale, scale.zero_point}];
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
    add_node("QuantizeLinear", options_.opset, {value, by, zero}, codes, provenance);
    known = dequantized(codes, by, zero, 0, value, provenance);
    return known;
  }

  Value* dequantized(Value* codes, Value* scale, Value* zero, int64_t axis, const Value* original,
                     const Provenance& provenance) {
    Value* result = graph_.add_value(free_name(original, "dequantized"), original->type);
    std::vector<Value*> inputs{codes, scale};
    if (zero != nullptr) inputs.push_back(zero);
    Node* node = add_node("DequantizeLinear", options_.opset, std::move(inputs), result, provenance);
    node->attributes["axis"] = Attribute(axis);
    return result;
  }

  Graph& graph_;
  const PrecisionPlan& plan_;
  const TypingOptions& options_;
  std::set<std::string>& names_;
  std::map<std::pair<const Value*, ElementType>, Value*> narrow_, rounded_;
  std::map<std::tuple<const Value*, ElementType, double, int64_t>, Value*> quantized_;
  std::map<std::tuple<const Value*, int64_t, int64_t, std::vector<double>>, Value*> weights_;
  std::vector<const Node*> order_;
  int changed_ = 0;
};

}  // namespace

std::string_view name_before_narrowing(std::string_view name, ElementType type) {
  if (!is_narrow(type)) return {};
  while (name.ends_with("'")) name.remove_suffix(1);
  const std::string suffix = fmt::format("/{}", element_type_short_name(type));
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : std::string_view();
}

ElementType narrow_type(const Node& node, const PrecisionPlan& plan) {
  const auto layer = plan.strictest(node);
  if (!layer || !has_f32_output(node) || states_type(node)) return ElementType::kFloat;
  // A contraction is typed by what it multiplies, anything else by what it stores: it computes floats.
  const bool contraction = class_of(node).lowering == Lowering::kAlways;
  const ElementType type = contraction ? layer->compute : layer->store;
  return is_narrow(type) ? type : ElementType::kFloat;
}

Pass apply_precision(PrecisionPlan plan, TypingOptions options) {
  return {"apply-precision", NumericalClass::kNarrowing, [plan = std::move(plan), options](Graph& graph) {
            std::set<std::string> names;
            for_each_graph(graph, [&](const Graph& inner) {
              for (const auto& value : inner.values()) names.insert(value->name);
            });
            int changed = 0;
            for_each_graph(graph,
                           [&](Graph& inner) { changed += TypedGraph(inner, plan, options, names).run(); });
            return changed;
          }};
}

}  // namespace vernier

#include "vernier/precision/codes_between.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "vernier/passes/build.h"
#include "vernier/passes/quantization/quantization.h"
#include "vernier/passes/uses.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/roles_on_codes.h"

namespace vernier {

namespace {

class GraphCodes {
 public:
  GraphCodes(Graph& graph, const Scales& scales, int64_t opset, FreeNames& names)
      : graph_(graph), opset_(opset), names_(names), scales_(scales), uses_(graph) {
    for (const auto& node : graph.nodes()) roles_[node.get()] = role_of(*node);
    for (const auto& value : graph.values()) {
      if (const auto scale = scale_of_constant(*value)) scales_[value->name] = *scale;
    }
  }

  void add_to(CodesBetween& result) {
    while (find_between() && drop_unknown(result.unknown)) {
    }
    choose(result.unknown);
    const std::vector<Value*> chosen = in_order();
    if (chosen.empty()) return;
    result.values += chosen.size();
    for (Value* value : chosen) quantize(*value);
    reorder();
  }

 private:
  // QuantizeLinear and DequantizeLinear of a value.
  struct Pair {
    Node *quantize = nullptr, *dequantize = nullptr;
  };

  static std::optional<ScaleEntry> scale_of_constant(const Value& value) {
    const auto content = value.is_constant() ? known_content(&value) : std::nullopt;
    if (!content || content->type() != ElementType::kFloat || content->size() == 0) return std::nullopt;
    const auto numbers = content->to_doubles();
    const auto [low, high] = std::minmax_element(numbers.begin(), numbers.end());
    if (!std::isfinite(*low) || !std::isfinite(*high)) return std::nullopt;
    return scale_of_range(*low, *high);
  }

  bool is_candidate(const Node* node) const {
    const Role role = roles_.at(node);
    return role != Role::kNone && role != Role::kMultiplies && !unable_.contains(node);
  }

  // Nodes that lie between what makes codes, or is read as such, and what reads codes.
  bool find_between() {
    std::unordered_set<const Value*> coded, wanted;
    between_.clear();
    for (const auto& node : graph_.nodes()) {
      if (is_quantize(node.get())) coded.insert(node->input(0)), wanted.insert(node->input(0));
      if (roles_.at(node.get()) == Role::kMultiplies) coded.insert(node->output(0));
    }
    std::unordered_set<const Node*> reached;
    for (const auto& node : graph_.nodes()) {
      if (!is_candidate(node.get())) continue;
      const auto inputs = data_inputs(*node, roles_.at(node.get()));
      if (std::none_of(inputs.begin(), inputs.end(), [&](const Value* each) { return coded.contains(each); }))
        continue;
      reached.insert(node.get());
      coded.insert(node->output(0));
    }
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
      if (!reached.contains(node->get()) || !wanted.contains((*node)->output(0))) continue;
      between_.insert(node->get());
      for (const Value* input : data_inputs(**node, roles_.at(node->get()))) wanted.insert(input);
    }
    return !between_.empty();
  }

  // Whether some of them lack a range, and are taken out.
  bool drop_unknown(std::set<std::string>& unknown) {
    const size_t before = unable_.size();
    for (const Node* node : between_) {
      const Role role = roles_.at(node);
      if (role == Role::kBounds) continue;
      for (const Value* input : data_inputs(*node, role)) {
        const bool is_own = &input->graph() == &graph_;
        if (is_own && (keeps_scale(*input) || scale_of(*input))) continue;
        unable_.insert(node);
        if (is_own) unknown.insert(input->name);
      }
    }
    return unable_.size() > before;
  }

  void choose(std::set<std::string>& unknown) {
    for (const auto& node : graph_.nodes()) {
      if (is_quantize(node.get()) && is_quantized_alike(node->input(0))) chosen_.insert(node->input(0));
      const Role role = roles_.at(node.get());
      if (!between_.contains(node.get()) || role == Role::kBounds) continue;
      for (Value* input : data_inputs(*node, role)) chosen_.insert(input);
    }
    // A MatMul or Gemm of codes may make floats.
    for (const auto& node : graph_.nodes()) {
      const Role role = roles_.at(node.get());
      const bool makes_codes = (role == Role::kMultiplies && node->op == "Conv") ||
                               (between_.contains(node.get()) && role != Role::kBounds);
      Value* output = node->output(0);
      if (!makes_codes || is_output(output) || uses_.count(output) == 0 || goes_through_bounds(output))
        continue;
      if (keeps_scale(*output) || scale_of(*output))
        chosen_.insert(output);
      else
        unknown.insert(output->name);
    }
  }

  // Where a plan has several scales for a value, its readers keep their own.
  bool is_quantized_alike(const Value* value) const {
    const auto& readers = uses_.readers(value);
    const auto quantizers = std::count_if(readers.begin(), readers.end(), is_quantize);
    return quantizers == 1 && existing(*value).quantize != nullptr && !is_output(value);
  }
  bool is_output(const Value* value) const {
    return std::find(graph_.outputs.begin(), graph_.outputs.end(), value) != graph_.outputs.end();
  }

  // Whether all that reads it is a bound that the codes of its result imply.
  bool goes_through_bounds(const Value* value) const {
    const Node* reader = uses_.only_reader(value);
    if (reader == nullptr || roles_.at(reader) != Role::kBounds || !chosen_.contains(reader->output(0)))
      return false;
    const auto scale = scale_of(*reader->output(0));
    if (!scale) return false;
    const int64_t first = scale->type == ElementType::kUint8 ? 0 : -128, last = first + 255;
    const double low = scale->scale * static_cast<double>(first - scale->zero_point),
                 high = scale->scale * static_cast<double>(last - scale->zero_point);
    const auto [least, most] = bounds_of(*reader);
    return low >= least - scale->scale / 2 && high <= most + scale->scale / 2;
  }

  // Gives the scale of the codes that it has, or will have.
  std::optional<ScaleEntry> scale_of(const Value& value) const {
    const Pair pair = existing(value);
    if (pair.quantize == nullptr) {
      const auto found = scales_.find(value.name);
      return found == scales_.end() ? std::nullopt : std::optional(found->second);
    }
    const auto known = Quantization::of(pair.quantize);
    return ScaleEntry{known->type, known->scales[0], static_cast<int64_t>(known->zero_points[0])};
  }

  std::vector<Value*> in_order() const {
    std::vector<Value*> order;
    for (const auto& value : graph_.values()) {
      if (chosen_.contains(value.get()) && value->producer() == nullptr) order.push_back(value.get());
    }
    for (const auto& node : graph_.nodes()) {
      for (Value* output : node->outputs) {
        if (chosen_.contains(output)) order.push_back(output);
      }
    }
    return order;
  }

  void quantize(Value& value) {
    const Pair source =
        keeps_scale(value) ? pairs_.at(data_inputs(*value.producer(), Role::kCarries)[0]) : Pair();
    Pair& pair = pairs_[&value] = existing(value);
    if (pair.quantize == nullptr) {
      pair = source.quantize != nullptr ? made(value, source.quantize->inputs[1], source.quantize->inputs[2])
                                        : made(value, scales_.at(value.name));
    } else if (source.quantize != nullptr) {
      for (const size_t i : {1, 2})
        pair.quantize->inputs[i] = pair.dequantize->inputs[i] = source.quantize->inputs[i];
      pair.quantize->output(0)->type.tensor.element = element_of(source.quantize->output(0));
    }
    for (const auto& node : graph_.nodes()) {
      if (is_quantize(node.get())) continue;
      std::replace(node->inputs.begin(), node->inputs.end(), &value, pair.dequantize->output(0));
    }
  }

  bool keeps_scale(const Value& value) const {
    const Node* maker = value.producer();
    return maker != nullptr && between_.contains(maker) && roles_.at(maker) == Role::kCarries;
  }

  // With one scale, which is known, and a zero point.
  Pair existing(const Value& value) const {
    for (Node* reader : uses_.readers(&value)) {
      const auto known = is_quantize(reader) ? Quantization::of(reader) : std::nullopt;
      if (!known || !known->is_uniform() || reader->input(2) == nullptr) continue;
      Node* back = uses_.only_reader(reader->output(0));
      if (is_dequantize(back) && back->input(2) != nullptr) return {reader, back};
    }
    return {};
  }

  Pair made(Value& value, const ScaleEntry& entry) {
    Value* scale =
        graph_.add_constant(named(value, "scale"),
                            Tensor::from<float>(ElementType::kFloat, {}, {static_cast<float>(entry.scale)}));
    Value* zero =
        graph_.add_constant(named(value, "zero_point"),
                            Tensor::from_ints(entry.type, {}, std::vector<int64_t>{entry.zero_point}));
    return made(value, scale, zero);
  }

  Pair made(Value& value, Value* scale, Value* zero) {
    const ElementType type = element_of(zero);
    Value* codes = graph_.add_value(named(value, element_type_short_name(type)), value.type);
    codes->type.tensor.element = type;
    Value* result = graph_.add_value(named(value, "dequantized"), value.type);
    Node* quantize = add("QuantizeLinear", {&value, scale, zero}, codes, value.producer());
    return {quantize, add("DequantizeLinear", {codes, scale, zero}, result, value.producer())};
  }

  Node* add(const char* op, std::vector<Value*> inputs, Value* output, const Node* maker) {
    auto node = make_node(op, opset_, std::move(inputs), output);
    if (maker != nullptr) node->provenance = maker->provenance;
    Node* added = graph_.add_node(std::move(node));
    roles_[added] = Role::kNone;
    return added;
  }
  std::string named(const Value& value, std::string_view suffix) {
    return names_.take(fmt::format("{}/{}", value.name, suffix));
  }

  // Each pair behind what makes its value.
  void reorder() {
    std::unordered_map<const Node*, size_t> position;
    std::unordered_set<const Node*> paired;
    for (size_t i = 0; i < graph_.nodes().size(); ++i) position[graph_.nodes()[i].get()] = i;
    std::vector<size_t> order;
    const auto put_pair = [&](const Value* value) {
      const auto found = pairs_.find(value);
      if (found == pairs_.end()) return;
      for (const Node* node : {found->second.quantize, found->second.dequantize})
        order.push_back(position.at(node));
    };
    for (const auto& [value, pair] : pairs_) paired.insert(pair.quantize), paired.insert(pair.dequantize);
    for (const auto& value : graph_.values()) {
      if (value->producer() == nullptr) put_pair(value.get());
    }
    for (const auto& node : graph_.nodes()) {
      if (paired.contains(node.get())) continue;
      order.push_back(position.at(node.get()));
      for (const Value* output : node->outputs) put_pair(output);
    }
    graph_.reorder(order);
  }

  Graph& graph_;
  int64_t opset_;
  FreeNames& names_;
  Scales scales_;
  Uses uses_;  // before anything is added
  std::unordered_map<const Node*, Role> roles_;
  std::unordered_set<const Node*> between_, unable_;
  std::unordered_set<const Value*> chosen_;
  std::unordered_map<const Value*, Pair> pairs_;
};

}  // namespace

CodesBetween keep_codes_between(Graph& graph, const Scales& scales, int64_t opset) {
  CodesBetween result;
  FreeNames names(graph);
  for_each_graph(graph, [&](Graph& inner) { GraphCodes(inner, scales, opset, names).add_to(result); });
  return result;
}

}  // namespace vernier

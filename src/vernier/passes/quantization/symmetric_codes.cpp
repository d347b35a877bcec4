#include "vernier/passes/quantization/symmetric_codes.h"

#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/nn/padding.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/quantization/constant_codes.h"

namespace vernier {

namespace {

constexpr double kInt8Max = 127;
constexpr int64_t kOpset = 13, kRoundOpset = 11;

// Whether what is multiplied as codes comes from here.
bool is_weights(const Uses& uses, const Value* value) {
  const auto readers = uses.readers(value);
  return std::any_of(readers.begin(), readers.end(), [](const Node* reader) {
    return reader != nullptr && ops::has_trait(*reader, ops::kProducts);
  });
}

class GraphCodes {
 public:
  GraphCodes(Graph& graph, FreeNames& names, SymmetricCodes& found)
      : graph_(graph), names_(names), found_(found) {}

  int run() {
    const size_t before = found_.all();
    int lifted = 0;
    while (Node* node = next_to_lift()) lift(node), ++lifted;
    for (Node* node : nodes_like(is_dequantize)) settle_constant(node);
    for (Node* node : nodes_like(is_quantize)) settle_value(node);
    for (Node* node : nodes_like(is_dequantize)) settle_input(node);
    return lifted + static_cast<int>(found_.all() - before);
  }

 private:
  template <class Test>
  std::vector<Node*> nodes_like(const Test& test) const {
    std::vector<Node*> found;
    for (const auto& node : graph_.nodes()) {
      if (test(node.get())) found.push_back(node.get());
    }
    return found;
  }

  // A DequantizeLinear behind what moves codes.
  Node* next_to_lift() const {
    for (const auto& node : graph_.nodes()) {
      if (!is_dequantize(node.get()) || known_content(node->input(0))) continue;
      const Node* mover = node->input(0)->producer();
      const auto quantization = Quantization::of(node.get());
      if (mover == nullptr || &mover->graph() != &graph_ || !quantization || !quantization->is_uniform() ||
          moved_inputs(*mover) == 0)
        continue;
      if (mover->op == "Pad" && ops::pad_mode(*mover) == "constant" && mover->input(2) != nullptr &&
          !scalar_of(mover->input(2)))
        continue;
      return node.get();
    }
    return nullptr;
  }

  // It goes before what moves, and there is a pair of the same parameters behind: kernels of integers want
  // one before each operand.
  void lift(Node* node) {
    const auto from = *Quantization::of(node);
    Value* codes = node->input(0);
    Node* mover = codes->producer();
    size_t at = position(*mover) + 1;
    Value* zero = node->input(2) != nullptr
                      ? node->input(2)
                      : graph_.add_constant(named(codes, "zero_point"), Tensor(from.type, {}));
    ValueMap same;
    auto moved = clone(*mover, same, &graph_);
    for (size_t i = 0; i < moved_inputs(*mover); ++i) {
      Value* real = between(mover->input(i), "dequantized");
      put("DequantizeLinear", node->version, {mover->input(i), node->input(1), zero}, real, *node, at);
      moved->inputs[i] = real;
    }
    pad_with_real(*moved, from);
    Value* result = nullptr;
    for (size_t i = 0; i < mover->outputs.size(); ++i) {
      if (mover->outputs[i] == nullptr) continue;
      moved->outputs[i] = between(mover->outputs[i], "moved");
      if (mover->outputs[i] == codes) result = moved->outputs[i];
    }
    moved->name = result->name;
    graph_.add_node(std::move(moved), at++);
    Value* again = between(codes, "again", from.type);
    put("QuantizeLinear", node->version, {result, node->input(1), zero}, again, *node, at);
    in_range_.insert(result);
    for (Node* reader : nodes_like(is_dequantize)) {
      const auto to = reader->input(0) == codes ? Quantization::of(reader) : std::nullopt;
      if (to && *to == from) reader->inputs[0] = again;
    }
    remove_unread(mover);
  }

  void remove_unread(Node* node) {
    const auto& outputs = node->outputs;
    if (std::any_of(outputs.begin(), outputs.end(),
                    [&](const Value* output) { return output != nullptr && is_read(graph_, output); }))
      return;
    const std::set<const Value*> gone(outputs.begin(), outputs.end());
    graph_.remove_nodes({node});
    graph_.remove_values(gone);
  }

  void pad_with_real(Node& pad, const Quantization& from) {
    if (pad.op != "Pad" || ops::pad_mode(pad) != "constant") return;
    const double code = pad.input(2) == nullptr ? 0 : *scalar_of(pad.input(2));
    if (pad.inputs.size() < 3) pad.inputs.resize(3, nullptr);
    pad.inputs[2] = number(pad.name, static_cast<float>((code - from.zero_points[0]) * from.scales[0]));
  }

  // Codes that are constants.
  void settle_constant(Node* node) {
    const auto codes = known_content(node->input(0));
    const auto from = Quantization::of(node);
    if (!codes || !from || (from->type == ElementType::kInt8 && from->is_symmetric())) return;
    if (from->type == ElementType::kInt4 || from->type == ElementType::kUint4) return;
    if (from->is_8bit()) {
      const AroundZero changed = around_zero(*codes, *from);
      if (changed.is_exact || is_weights(Uses(graph_), node->output(0))) return set_codes(*node, changed);
    }
    Value* real = graph_.add_constant(named(node->output(0), "real"), dequantized_constant(*codes, *from));
    if (Rewriter(graph_).forward(node, real)) ++found_.constants;
  }

  void set_codes(Node& node, const AroundZero& to) {
    const std::string name = node.input(0)->name;
    node.inputs = {graph_.add_constant(names_.take(name + "/i8"), to.codes),
                   graph_.add_constant(names_.take(name + "/i8_scale"), to.scales),
                   graph_.add_constant(names_.take(name + "/i8_zero_point"),
                                       Tensor(ElementType::kInt8, to.scales.dims()))};
    ++found_.weights;
  }

  // Codes that QuantizeLinear makes.
  void settle_value(Node* node) {
    const auto from = Quantization::of(node);
    if (!from || !from->is_uniform() || !from->is_8bit()) return;
    Value* codes = node->output(0);
    const Uses uses(graph_);
    std::vector<Node*> back;
    bool others = false;
    for (Node* reader : uses.readers(codes)) {
      const auto to = is_dequantize(reader) ? Quantization::of(reader) : std::nullopt;
      if (to && *to == *from)
        back.push_back(reader);
      else
        others = true;
    }
    const bool changes = from->type != ElementType::kInt8 || from->zero_points[0] != 0;
    if (!changes) return;
    if (!back.empty()) quantize_around_zero(*node, *from, back);
    if (others || back.empty()) spell_out(node, *from);
    if (!others && !back.empty()) graph_.remove_nodes({node}), graph_.remove_values({codes});
  }

  void quantize_around_zero(Node& node, const Quantization& from, const std::vector<Node*>& back) {
    const CodeRange range = CodeRange::of(from);
    const auto scale = static_cast<float>(range.symmetric_scale());
    Value* real = node.input(0);
    size_t at = position(node);
    if (Value* kept = cut_off(real, range, static_cast<double>(scale), node, at)) real = kept, ++found_.clips;
    Value* by = number(node.output(0)->name, scale);
    Value* zero = graph_.add_constant(named(node.output(0), "zero_point"), Tensor(ElementType::kInt8, {}));
    Value* codes = between(node.output(0), "i8", ElementType::kInt8);
    put("QuantizeLinear", kOpset, {real, by, zero}, codes, node, at);
    for (Node* each : back) {
      each->inputs = {codes, by, zero};
      each->attributes.erase("output_dtype");
    }
    ++found_.values;
  }

  // The value without what the codes cut off; null where the new ones cut it off, too, or it has nothing
  // there.
  Value* cut_off(Value* real, const CodeRange& range, double scale, const Node& by, size_t& at) {
    const double widest = kInt8Max * scale;
    const bool below = range.low > -widest + scale, above = range.high < widest - scale;
    if (!below && !above) return nullptr;
    if (in_range_.contains(real) || (range.low == 0 && is_never_negative(real))) return nullptr;
    Value* kept = between(real, "in_range");
    if (range.low == 0) {
      put("Relu", kOpset, {real}, kept, by, at);
    } else {
      Value *low = number(kept->name, static_cast<float>(range.low)),
            *high = number(kept->name, static_cast<float>(range.high));
      put("Clip", kOpset, {real, low, high}, kept, by, at);
    }
    return kept;
  }

  // y = cast(clip(round(x / scale) + zero point)), for who wants the codes themselves.
  void spell_out(Node* node, const Quantization& from) {
    Value* codes = node->output(0);
    size_t at = position(*node);
    Value* steps = between(codes, "steps");
    put("Div", kOpset, {node->input(0), node->input(1)}, steps, *node, at);
    Value* rounded = between(codes, "rounded");
    put("Round", kRoundOpset, {steps}, rounded, *node, at);
    Value* moved = between(codes, "moved");
    put("Add", kOpset, {rounded, number(moved->name, static_cast<float>(from.zero_points[0]))}, moved, *node,
        at);
    Value* kept = between(codes, "kept");
    Value *low = number(kept->name, static_cast<float>(integer_min(from.type))),
          *high = number(kept->name, static_cast<float>(integer_max(from.type)));
    put("Clip", kOpset, {moved, low, high}, kept, *node, at);
    auto cast = make_node("Cast", kOpset, {kept}, codes);
    cast->attributes["to"] = Attribute(static_cast<int64_t>(from.type));
    std::vector<std::unique_ptr<Node>> made;
    made.push_back(std::move(cast));
    Rewriter(graph_).replace({node}, std::move(made));
    ++found_.borders;
  }

  // Codes of inputs, and of whatever else makes some: (cast(q) - zero point) * scale.
  void settle_input(Node* node) {
    const auto from = Quantization::of(node);
    const Node* maker = node->input(0)->producer();
    if (!from || !from->is_uniform() || !from->is_8bit() || is_quantize(maker) ||
        known_content(node->input(0)) || (from->type == ElementType::kInt8 && from->zero_points[0] == 0))
      return;
    std::vector<std::unique_ptr<Node>> made;
    Value *real = between(node->output(0), "cast"), *moved = between(node->output(0), "moved");
    made.push_back(make_node("Cast", kOpset, {node->input(0)}, real));
    made.back()->attributes["to"] = Attribute(static_cast<int64_t>(ElementType::kFloat));
    Value* zero = number(moved->name, static_cast<float>(from->zero_points[0]));
    made.push_back(make_node("Sub", kOpset, {real, zero}, moved));
    made.push_back(make_node("Mul", kOpset, {moved, node->input(1)}, node->output(0)));
    Rewriter(graph_).replace({node}, std::move(made));
    ++found_.borders;
  }

  std::string named(const Value* value, std::string_view suffix) {
    return names_.take(fmt::format("{}/{}", value->name, suffix));
  }
  Value* between(const Value* value, std::string_view suffix, ElementType type = ElementType::kFloat) {
    ValueType typed = value->type;
    typed.tensor.element = type;
    return graph_.add_value(named(value, suffix), typed);
  }
  Value* number(const std::string& name, float value) {
    return graph_.add_constant(names_.take(name + "/number"),
                               Tensor::from<float>(ElementType::kFloat, {}, {value}));
  }
  size_t position(const Node& node) const {
    const auto& nodes = graph_.nodes();
    return static_cast<size_t>(
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& each) { return each.get() == &node; }) -
        nodes.begin());
  }
  void put(const char* op, int64_t version, std::vector<Value*> inputs, Value* output,
           const Node& in_place_of, size_t& at) {
    auto node = make_node(op, version, std::move(inputs), output);
    node->provenance = in_place_of.provenance;
    graph_.add_node(std::move(node), at++);
  }

  Graph& graph_;
  FreeNames& names_;
  SymmetricCodes& found_;
  std::set<const Value*> in_range_;  // what codes were moved to
};

}  // namespace

Pass symmetric_codes(SymmetricCodes& found) {
  return {"symmetric-codes", NumericalClass::kApproximate, [&found](Graph& graph) {
            FreeNames names(graph);
            int made = 0;
            for_each_graph(graph, [&](Graph& inner) { made += GraphCodes(inner, names, found).run(); });
            return made;
          }};
}

}  // namespace vernier

#include "vernier/passes/quantization/expand_qlinear.h"

#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"

namespace vernier {

namespace {

constexpr int64_t kQuantizeOpset = 13;
constexpr const char* kMicrosoft = "com.microsoft";

// How an operator on codes is laid out: where the triplets (codes, scale, zero point) of its operands begin,
// where scale and zero point of the result stand, and a bias of INT32 if it has one.
struct Form {
  const char *domain, *op;
  const char* real;  // the operator of floats, and its version
  int64_t version;
  std::vector<size_t> operands;
  size_t result;
  std::optional<size_t> bias = std::nullopt;
  std::optional<size_t> plain = std::nullopt;  // an operand that is no code, and comes first
};

const Form* form_of(const Node& node) {
  static const std::vector<Form> forms = {
      {"", "QLinearConv", "Conv", 11, {0, 3}, 6, 8},
      {kMicrosoft, "QLinearConv", "Conv", 11, {0, 3}, 6, 8},
      {"", "QLinearMatMul", "MatMul", 13, {0, 3}, 6},
      {kMicrosoft, "QGemm", "Gemm", 13, {0, 3}, 7, 6},
      {kMicrosoft, "QLinearAdd", "Add", 13, {0, 3}, 6},
      {kMicrosoft, "QLinearMul", "Mul", 13, {0, 3}, 6},
      {kMicrosoft, "QLinearLeakyRelu", "LeakyRelu", 6, {0}, 3},
      {kMicrosoft, "QLinearSigmoid", "Sigmoid", 13, {0}, 3},
      {kMicrosoft, "QLinearGlobalAveragePool", "GlobalAveragePool", 1, {0}, 3},
      {kMicrosoft, "QLinearAveragePool", "AveragePool", 11, {0}, 3},
      {kMicrosoft, "QLinearReduceMean", "ReduceMean", 13, {0}, 3},
      {kMicrosoft, "QLinearSoftmax", "Softmax", 13, {0}, 3},
      {kMicrosoft, "QLinearWhere", "Where", 9, {1, 4}, 7, std::nullopt, 0},
      {kMicrosoft, "QLinearConcat", "Concat", 13, {}, 0}};
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const Form& form) {
    return node.op == form.op && node.domain == form.domain;
  });
  return found == forms.end() ? nullptr : &*found;
}

class Expansion {
 public:
  Expansion(Graph& graph, Node& node, const Form& form, FreeNames& names)
      : graph_(graph), node_(node), form_(form), names_(names), operands_(form.operands) {
    for (size_t i = 2; operands_.empty() && node.op == "QLinearConcat" && i < node.inputs.size(); i += 3)
      parts_.push_back(i);
    if (operands_.empty()) operands_ = parts_;
  }

  bool run() {
    if (!is_sayable()) return false;
    std::vector<Value*> inputs;
    if (form_.plain) inputs.push_back(node_.input(*form_.plain));
    for (size_t i = 0; i < operands_.size(); ++i) inputs.push_back(dequantized(operands_[i], i));
    if (form_.bias && node_.input(*form_.bias) != nullptr) inputs.push_back(real_bias());
    const bool quantizes = node_.input(form_.result) != nullptr;
    Value* result = quantizes ? between(node_.output(0), "real") : node_.output(0);
    add(form_.real, form_.version, std::move(inputs), result).attributes = attributes();
    if (quantizes) {
      Value* point = node_.input(form_.result + 1);
      add("QuantizeLinear", kQuantizeOpset,
          {result, parameter(node_.input(form_.result), 1),
           point != nullptr ? parameter(point, 1) : zero(node_.output(0))},
          node_.output(0));
    }
    Rewriter(graph_).replace({&node_}, std::move(made_));
    return true;
  }

 private:
  static bool is_known_float(const Value* scale) {
    const auto content = known_content(scale);
    return content && content->type() == ElementType::kFloat && content->rank() <= 1;
  }

  bool is_sayable() const {
    constexpr int64_t kNewSoftmax = 13;
    if (ops::integer_attribute(node_, "channels_last") != 0) return false;
    if (node_.op == "QLinearSoftmax" && ops::integer_attribute(node_, "opset") < kNewSoftmax) return false;
    for (size_t i = 0; i < operands_.size(); ++i) {
      const Value* scale = node_.input(operands_[i] + 1);
      if (!is_known_float(scale) || !known_rank(*node_.input(operands_[i]))) return false;
      const bool weights =
          i == 1 && form_.operands.size() == 2;  // columns or channels have scales of their own
      if (known_content(scale)->size() != 1 && !weights) return false;
    }
    if (form_.bias && node_.input(*form_.bias) != nullptr && !known_content(node_.input(*form_.bias)))
      return false;
    return node_.input(form_.result) == nullptr || is_known_float(node_.input(form_.result));
  }

  AttributeMap attributes() const {
    AttributeMap result = node_.attributes;
    for (const char* own : {"channels_last", "opset"}) result.erase(own);
    return result;
  }

  std::string named(const Value* value, std::string_view suffix) {
    return names_.take(fmt::format("{}/{}", value->name, suffix));
  }
  Value* between(const Value* value, std::string_view suffix) {
    return graph_.add_value(named(value, suffix));
  }
  Node& add(const char* op, int64_t version, std::vector<Value*> inputs, Value* output) {
    made_.push_back(make_node(op, version, std::move(inputs), output));
    return *made_.back();
  }
  Value* zero(const Value* codes) {
    return graph_.add_constant(named(codes, "zero_point"), Tensor(codes->type.tensor.element, {}));
  }

  // Which axis of the second operand has the scales, if there are several.
  int64_t scale_axis(const Value* codes) const {
    if (node_.op == "QLinearConv") return 0;
    const auto rank = static_cast<int64_t>(*known_rank(*codes));
    return ops::integer_attribute(node_, "transB") != 0 ? 0 : rank - 1;
  }

  Value* dequantized(size_t first, size_t operand) {
    Value *codes = node_.input(first), *scale = node_.input(first + 1), *point = node_.input(first + 2);
    Value* result = between(codes, "dequantized");
    const int64_t count = known_content(scale)->size();
    std::vector<Value*> inputs{codes, parameter(scale, count)};
    if (point != nullptr) inputs.push_back(parameter(point, count));
    Node& node = add("DequantizeLinear", kQuantizeOpset, std::move(inputs), result);
    if (operand == 1 && count > 1) node.attributes["axis"] = Attribute(scale_axis(codes));
    return result;
  }

  // One number is a scalar, and one DequantizeLinear has as many zero points as scales.
  Value* parameter(Value* value, int64_t count) {
    const auto content = known_content(value);
    if (!content || (content->size() == count && (content->rank() == 1) == (count > 1))) return value;
    const std::vector<double> all(static_cast<size_t>(count), content->to_doubles()[0]);
    return graph_.add_constant(named(value, count > 1 ? "of_channels" : "scalar"),
                               Tensor::from_doubles(content->type(), count > 1 ? Dims{count} : Dims{}, all));
  }

  // The bias has the scale of the sums.
  Value* real_bias() {
    const Value* codes = node_.input(*form_.bias);
    const auto content = *known_content(codes);
    const auto a = known_content(node_.input(operands_[0] + 1))->to_doubles(),
               b = known_content(node_.input(operands_[1] + 1))->to_doubles();
    const double alpha = node_.op == "QGemm" ? static_cast<double>(ops::real_attribute(node_, "alpha")) : 1;
    auto values = content.to_doubles();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] *= alpha * a[0] * b[b.size() == 1 ? 0 : i % b.size()];
    return graph_.add_constant(named(codes, "real"),
                               Tensor::from_doubles(ElementType::kFloat, content.dims(), values));
  }

  Graph& graph_;
  Node& node_;
  const Form& form_;
  FreeNames& names_;
  std::vector<size_t> operands_, parts_;
  std::vector<std::unique_ptr<Node>> made_;
};

int expand_in(Graph& graph, FreeNames& names) {
  std::vector<std::pair<Node*, const Form*>> found;
  for (const auto& node : graph.nodes()) {
    if (const Form* form = form_of(*node)) found.emplace_back(node.get(), form);
  }
  return static_cast<int>(std::count_if(found.begin(), found.end(), [&](const auto& each) {
    return Expansion(graph, *each.first, *each.second, names).run();
  }));
}

}  // namespace

Pass expand_qlinear() {
  return {"expand-qlinear", NumericalClass::kReassociating, [](Graph& graph) {
            FreeNames names(graph);
            int made = 0;
            for_each_graph(graph, [&](Graph& inner) { made += expand_in(inner, names); });
            return made;
          }};
}

}  // namespace vernier

// DynamicQuantizeLinear gives codes y and a scale s of x; MatMulInteger(y, W) is cast and multiplied by s and
// by the scale of W. Where s only scales such products, x itself may stand for y, and 1 for s.
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"
#include "vernier/passes/quantization/expand_qlinear.h"
#include "vernier/passes/uses.h"

namespace vernier {

namespace {

constexpr int64_t kDequantizeOpset = 13, kMatMulOpset = 13, kConvOpset = 11, kAddOpset = 13;
constexpr const char* kMicrosoft = "com.microsoft";

bool is_onnx(const Node* node, std::string_view op) {
  return node != nullptr && node->domain.empty() && node->op == op;
}

class DynamicCodes {
 public:
  DynamicCodes(Graph& graph, FreeNames& names) : graph_(graph), names_(names), uses_(graph) {}

  int run() {
    std::vector<Node*> quantizers, products;
    for (const auto& node : graph_.nodes()) {
      if (is_onnx(node.get(), "DynamicQuantizeLinear") && is_undone(*node)) quantizers.push_back(node.get());
      if (node->domain == kMicrosoft && node->op == "DynamicQuantizeMatMul") products.push_back(node.get());
    }
    for (Node* node : products) undo_product(node);
    for (Node* node : quantizers) undo(node);
    return static_cast<int>(quantizers.size() + products.size());
  }

 private:
  // Whether all that reads the codes are products of integers that become floats, and all that reads the
  // scale multiplies.
  bool is_undone(const Node& quantizer) const {
    const Value *codes = quantizer.output(0), *scale = quantizer.output(1), *point = quantizer.output(2);
    for (const Node* reader : uses_.readers(codes)) {
      if (reader == nullptr || reader->input(0) != codes || reader->input(1) == codes) return false;
      if (reader->domain == kMicrosoft && reader->op == "MatMulIntegerToFloat") {
        if (reader->input(2) != scale || reader->input(4) != point) return false;
        continue;
      }
      if ((!is_onnx(reader, "MatMulInteger") && !is_onnx(reader, "ConvInteger")) || reader->input(2) != point)
        return false;
      for (const Node* next : uses_.readers(reader->output(0))) {
        if (!is_onnx(next, "Cast") ||
            ops::integer_attribute(*next, "to") != static_cast<int64_t>(ElementType::kFloat))
          return false;
      }
    }
    const auto scales = uses_.readers(scale);
    return std::all_of(scales.begin(), scales.end(), [&](const Node* reader) {
      return is_onnx(reader, "Mul") ||
             (reader != nullptr && reader->op == "MatMulIntegerToFloat" && reader->input(0) == codes);
    });
  }

  void undo(Node* quantizer) {
    Value *x = quantizer->input(0), *codes = quantizer->output(0);
    std::vector<Node*> products;
    for (Node* reader : uses_.readers(codes)) products.push_back(reader);
    for (Node* product : products) {
      if (product->op == "MatMulIntegerToFloat") {
        undo_to_float(product, x);
        continue;
      }
      std::vector<std::unique_ptr<Node>> made;
      Value* weights = dequantized(*product, 1, one(*product), product->input(3), made);
      const bool conv = product->op == "ConvInteger";
      made.push_back(make_node(conv ? "Conv" : "MatMul", conv ? kConvOpset : kMatMulOpset, {x, weights},
                               product->output(0)));
      made.back()->attributes = product->attributes;
      Rewriter(graph_).replace({product}, std::move(made));
    }
    if (Value* scale = quantizer->output(1); scale != nullptr) graph_.replace_uses(scale, one(*quantizer));
    graph_.remove_nodes({quantizer});
  }

  void undo_product(Node* node) {
    std::vector<std::unique_ptr<Node>> made;
    Value* weights = dequantized(*node, 1, node->input(2), node->input(3), made);
    finish(node, node->input(0), weights, node->input(4), std::move(made));
  }

  void undo_to_float(Node* node, Value* x) {
    std::vector<std::unique_ptr<Node>> made;
    Value* weights = dequantized(*node, 1, node->input(3), node->input(5), made);
    finish(node, x, weights, node->input(6), std::move(made));
  }

  void finish(Node* node, Value* x, Value* weights, Value* bias, std::vector<std::unique_ptr<Node>> made) {
    Value* product =
        bias == nullptr ? node->output(0) : graph_.add_value(names_.take(node->output(0)->name + "/product"));
    made.push_back(make_node("MatMul", kMatMulOpset, {x, weights}, product));
    if (bias != nullptr) made.push_back(make_node("Add", kAddOpset, {product, bias}, node->output(0)));
    Rewriter(graph_).replace({node}, std::move(made));
  }

  Value* one(const Node& node) {
    return graph_.add_constant(names_.take(node.name + "/one"),
                               Tensor::from<float>(ElementType::kFloat, {}, {1.0F}));
  }

  Value* dequantized(const Node& product, size_t input, Value* scale, Value* point,
                     std::vector<std::unique_ptr<Node>>& made) {
    Value* codes = product.input(input);
    Value* result = graph_.add_value(names_.take(codes->name + "/dequantized"));
    const auto scales = known_content(scale), points = known_content(point);
    const bool channels = scales && scales->size() > 1;
    if (points && points->size() > 1 && !channels)
      scale = graph_.add_constant(
          names_.take(codes->name + "/scales"),
          Tensor::from_doubles(ElementType::kFloat, points->dims(),
                               std::vector<double>(static_cast<size_t>(points->size()),
                                                   scales ? scales->to_doubles()[0] : 1)));
    std::vector<Value*> inputs{codes, scale};
    if (point != nullptr) inputs.push_back(point);
    made.push_back(make_node("DequantizeLinear", kDequantizeOpset, std::move(inputs), result));
    if (channels || (points && points->size() > 1))
      made.back()->attributes["axis"] = Attribute(int64_t{product.op == "ConvInteger" ? 0 : -1});
    return result;
  }

  Graph& graph_;
  FreeNames& names_;
  Uses uses_;  // before anything is changed
};

}  // namespace

Pass undo_dynamic_quantization() {
  return {"undo-dynamic-quantization", NumericalClass::kApproximate, [](Graph& graph) {
            FreeNames names(graph);
            int made = 0;
            for_each_graph(graph, [&](Graph& inner) { made += DynamicCodes(inner, names).run(); });
            return made;
          }};
}

}  // namespace vernier

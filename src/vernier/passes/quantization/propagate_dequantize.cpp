// Moves DequantizeLinear behind the operators that only move elements, add zeros around them, or take the
// largest of them, so that they work on the integers, and QuantizeLinear before those that only move
// elements; and removes the pairs of DequantizeLinear and QuantizeLinear that this brings together.
//
// Exact: (q - zero point) * scale grows with q, and dividing it by the scale again gives an integer to within
// a rounding error.
#include "vernier/ir/clone.h"
#include "vernier/ir/rewriter.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/padding.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/passes.h"
#include "vernier/passes/quantization/quantization.h"

namespace vernier {

namespace {

// A Pad of integers adds what stands for 0.
void set_padding(Graph& graph, Node& moved, const Quantization& quantization) {
  if (moved.op != "Pad" || ops::pad_mode(moved) != "constant") return;
  if (moved.inputs.size() < 3) moved.inputs.resize(3, nullptr);
  moved.inputs[2] = graph.add_constant(
      free_name(graph, moved.name + "/zero_point"),
      Tensor::from_doubles(quantization.type, Dims{}, std::vector<double>{quantization.zero_points.at(0)}));
}

// The parameters that all dequantized operands share.
std::optional<Quantization> shared_quantization(const Node& node, size_t count) {
  std::optional<Quantization> shared;
  for (size_t i = 0; i < count; ++i) {
    const Value* input = node.input(i);
    const Node* producer = input == nullptr ? nullptr : input->producer();
    if (!is_dequantize(producer)) return std::nullopt;
    const auto own = Quantization::of(producer);
    if (!own || !own->is_uniform() || !own->is_8bit() || (shared && !(*own == *shared))) return std::nullopt;
    shared = own;
  }
  return shared;
}

bool propagate(Graph& graph, Node* node) {
  const size_t count = moved_inputs(*node);
  const auto shared = count == 0 ? std::nullopt : shared_quantization(*node, count);
  if (!shared) return false;
  const Node* dequantize = node->input(0)->producer();
  std::vector<std::unique_ptr<Node>> made;
  ValueMap same;
  made.push_back(clone(*node, same, &graph));
  Node* moved = made.back().get();
  for (size_t i = 0; i < count; ++i) {
    const Node& before = *node->input(i)->producer();
    moved->inputs[i] = before.input(0);
    // The DequantizeLinear behind an operator that was moved bears the names of that one, which has them.
    const Node* earlier = before.input(0)->producer();
    for (const std::string& name : before.provenance) {
      if (earlier == nullptr || !earlier->provenance.contains(name)) moved->provenance.insert(name);
    }
  }
  set_padding(graph, *moved, *shared);
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    Value* real = node->outputs[i];
    if (real == nullptr) continue;
    ValueType type = real->type;
    type.tensor.element = shared->type;
    Value* integers = graph.add_value(free_name(graph, real->name + "/quantized"), type);
    moved->outputs[i] = integers;
    made.push_back(make_node("DequantizeLinear", dequantize->version,
                             {integers, dequantize->input(1), dequantize->input(2)}, real));
    made.back()->attributes = dequantize->attributes;
    made.back()->name = free_name(graph, real->name + "/dequantize");
  }
  Rewriter(graph).replace({node}, std::move(made));
  return true;
}

// A QuantizeLinear that alone reads what is moved. The largest of several is left out: NaN is not the largest
// integer.
bool hoist(Graph& graph, Node* quantize) {
  if (!is_quantize(quantize)) return false;
  Node* mover = quantize->input(0)->producer();
  const auto quantization = Quantization::of(quantize);
  const size_t count = mover == nullptr ? 0 : moved_inputs(*mover);
  if (count == 0 || mover->op == "MaxPool" || mover->outputs.size() != 1 || &mover->graph() != &graph ||
      !quantization || !quantization->is_uniform() || !quantization->is_8bit() ||
      Uses(graph).only_reader(mover->output(0)) != quantize)
    return false;
  std::vector<std::unique_ptr<Node>> made;
  ValueMap same;
  auto moved = clone(*mover, same, &graph);
  for (size_t i = 0; i < count; ++i) {
    Value* real = mover->inputs[i];
    ValueType type = real->type;
    type.tensor.element = quantization->type;
    Value* integers = graph.add_value(free_name(graph, real->name + "/quantized"), type);
    made.push_back(clone(*quantize, same, &graph));
    made.back()->name = integers->name;
    made.back()->inputs[0] = real;
    made.back()->outputs = {integers};
    moved->inputs[i] = integers;
  }
  set_padding(graph, *moved, *quantization);
  moved->outputs = {quantize->output(0)};
  made.push_back(std::move(moved));
  Rewriter(graph).replace({mover, quantize}, std::move(made));
  return true;
}

// DequantizeLinear, then QuantizeLinear with the same parameters.
bool cancel(Graph& graph, Node* node) {
  if (!is_quantize(node) || !is_dequantize(node->input(0)->producer())) return false;
  const auto from = Quantization::of(node->input(0)->producer()), to = Quantization::of(node);
  if (!from || !to || !(*from == *to) || !to->is_8bit()) return false;
  return Rewriter(graph).forward(node, node->input(0)->producer()->input(0));
}

int propagate_in(Graph& graph) {
  int found = 0;
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto& node : graph.nodes()) {
      if (!propagate(graph, node.get()) && !cancel(graph, node.get()) && !hoist(graph, node.get())) continue;
      changed = true;  // the nodes are others now
      ++found;
      break;
    }
  }
  return found;
}

}  // namespace

Pass propagate_dequantize() {
  return {"propagate-dequantize", NumericalClass::kExact, [](Graph& graph) {
            int found = 0;
            for_each_graph(graph, [&](Graph& inner) { found += propagate_in(inner); });
            return found;
          }};
}

}  // namespace vernier

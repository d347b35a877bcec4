// Pairs of QuantizeLinear and DequantizeLinear: left out, or with scales of the ranges that the values have.
#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/diagnose/rewrites/rewrites.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/ops/operands.h"
#include "vernier/passes/passes.h"

namespace vernier {

namespace {

bool is_quantize(const Node* node) {
  return node != nullptr && node->domain.empty() && node->op == "QuantizeLinear";
}
bool is_dequantize(const Node* node) {
  return node != nullptr && node->domain.empty() && node->op == "DequantizeLinear";
}

// Lists the nodes that read the value.
std::vector<Node*> readers_of(const Value* value) {
  std::vector<Node*> readers;
  if (value == nullptr) return readers;
  for (const auto& node : value->graph().nodes()) {
    if (std::find(node->inputs.begin(), node->inputs.end(), value) != node->inputs.end())
      readers.push_back(node.get());
  }
  return readers;
}

// The QuantizeLinear of the nodes, or, for nodes that compute, those before and behind them.
std::vector<Node*> sites_at(const Model& model, const std::vector<std::string>& names, bool neighbours) {
  std::vector<Node*> sites;
  const auto add = [&](Node* node) {
    if (is_quantize(node) && std::find(sites.begin(), sites.end(), node) == sites.end())
      sites.push_back(node);
  };
  for (Node* node : nodes_of(model, names)) {
    add(node);
    if (is_dequantize(node)) add(node->input(0)->producer());
    if (!neighbours) continue;
    for (const Value* input : node->inputs) {
      if (input != nullptr && is_dequantize(input->producer())) add(input->producer()->input(0)->producer());
    }
    for (const Value* output : node->outputs) {
      for (Node* reader : readers_of(output)) add(reader);
    }
  }
  return sites;
}

struct Reach {
  double low = 0, high = 0;
};

// Measures the reach of what comes to each site; a sample that is a little larger fits, too.
std::map<const Value*, Reach> reaches_of(const Graph& graph, const NamedData& inputs) {
  constexpr double kMargin = 1.02;
  std::map<const Value*, Reach> reaches;
  const auto note = [&](const Value& value, const Datum& datum) {
    if (!datum.is_tensor() || !is_float(datum.tensor.type())) return;
    Reach& reach = reaches[&value];
    for (const double each : datum.tensor.to_doubles()) {
      if (!std::isfinite(each)) continue;
      reach.low = std::min(reach.low, kMargin * each);
      reach.high = std::max(reach.high, kMargin * each);
    }
  };
  for (const Value* input : graph.inputs) {
    if (const auto given = inputs.find(input->name); given != inputs.end()) note(*input, given->second);
  }
  InterpreterOptions options;
  options.mode = ReferenceMode::kIdeal;
  options.observe = note;
  run_reference(graph, inputs, options);
  return reaches;
}

// Gives, for weights, the axis of output channels, by who reads them.
int64_t channel_axis(const Node& quantize, int64_t rank) {
  for (const Node* dequantize : readers_of(quantize.output(0))) {
    for (const Node* reader : readers_of(dequantize->output(0))) {
      if (const auto axis = ops::output_channel_axis(*reader, rank)) return *axis;
    }
  }
  return 0;
}

// Scale and zero point of each index of an axis, or one of each.
struct Scales {
  std::vector<double> steps, zeros;
};

Scales symmetric(const Tensor& weights, int64_t axis, double most) {
  const auto values = weights.to_doubles();
  size_t inner = 1;
  for (auto i = static_cast<size_t>(axis) + 1; i < weights.dims().size(); ++i)
    inner *= static_cast<size_t>(weights.dims()[i]);
  const auto count = static_cast<size_t>(weights.dims()[static_cast<size_t>(axis)]);
  Scales scales{std::vector<double>(count, 0), std::vector<double>(count, 0)};
  for (size_t i = 0; i < values.size(); ++i) {
    double& step = scales.steps[i / inner % count];
    step = std::max(step, std::abs(values[i]) / most);
  }
  for (double& step : scales.steps) step = step > 0 ? step : 1;
  return scales;
}

Scales of_reach(const Reach& reach, double lowest, double highest) {
  const double step = reach.high > reach.low ? (reach.high - reach.low) / (highest - lowest) : 1;
  return {{step}, {std::clamp(std::nearbyint(lowest - reach.low / step), lowest, highest)}};
}

void set_scales(const Model& model, Node& quantize, const Scales& scales, std::optional<int64_t> axis) {
  const ElementType code = quantize.output(0)->type.tensor.element;
  const Dims dims = axis ? Dims{static_cast<int64_t>(scales.steps.size())} : Dims{};
  std::vector<Node*> nodes = readers_of(quantize.output(0));
  nodes.push_back(&quantize);
  Graph& graph = quantize.graph();
  const ElementType type = quantize.input(1)->type.tensor.element;
  Value* step = graph.add_constant(free_name(*model.graph, quantize.name + "~scale"),
                                   Tensor::from_doubles(type, dims, scales.steps));
  Value* zero = graph.add_constant(free_name(*model.graph, quantize.name + "~zero"),
                                   Tensor::from_doubles(code, dims, scales.zeros));
  for (Node* node : nodes) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    node->inputs.resize(std::max<size_t>(3, node->inputs.size()));
    node->inputs[1] = step;
    node->inputs[2] = zero;
    if (axis) node->attributes.insert_or_assign("axis", Attribute(*axis));
  }
}

bool rescale_site(const Model& model, Node& quantize, const std::map<const Value*, Reach>& reaches) {
  const ElementType code = quantize.output(0)->type.tensor.element;
  if ((code != ElementType::kInt8 && code != ElementType::kUint8) ||
      constant_of(quantize.input(1)) == nullptr)
    return false;
  const double lowest = code == ElementType::kInt8 ? -128 : 0,
               highest = code == ElementType::kInt8 ? 127 : 255;
  if (const Tensor* weights = constant_of(quantize.input(0))) {
    if (code != ElementType::kInt8 || weights->rank() < 2) return false;
    const int64_t axis = channel_axis(quantize, weights->rank());
    set_scales(model, quantize, symmetric(*weights, axis, highest), axis);
    return true;
  }
  const auto reach = reaches.find(quantize.input(0));
  if (reach == reaches.end()) return false;
  set_scales(model, quantize, of_reach(reach->second, lowest, highest), std::nullopt);
  quantize.attributes.erase("axis");
  return true;
}

}  // namespace

bool unquantize(Model& model, const std::vector<std::string>& nodes, bool neighbours) {
  bool changed = false;
  for (const Node* quantize : sites_at(model, nodes, neighbours)) {
    std::vector<Node*> ends;
    for (Node* reader : readers_of(quantize->output(0))) {
      if (is_dequantize(reader)) ends.push_back(reader);
    }
    Value* real = quantize->input(0);
    changed = rewrite_each(model, ends,
                           [&](Replacement& node) {
                             node("Identity", {real});
                             return true;
                           }) ||
              changed;
  }
  if (changed) remove_dead_code().run(*model.graph);
  return changed;
}

std::vector<std::string> quantizers_of(const Model& model) {
  std::vector<std::string> names;
  for (const auto& node : model.graph->nodes()) {
    if (is_quantize(node.get())) names.push_back(node->name);
  }
  return names;
}

Model without_quantizers(const Model& model) {
  Model copy = clone(model);
  if (unquantize(copy, quantizers_of(copy), false)) ops::infer_types(*copy.graph);
  return copy;
}

bool rescale(Model& model, const std::vector<std::string>& nodes, const NamedData& inputs, bool all) {
  const auto reaches = reaches_of(*model.graph, inputs);
  const std::vector<Node*> sites = sites_at(model, all ? quantizers_of(model) : nodes, !all);
  bool changed = false;
  for (Node* site : sites) changed = rescale_site(model, *site, reaches) || changed;
  return changed;
}

}  // namespace vernier

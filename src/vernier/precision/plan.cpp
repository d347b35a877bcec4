#include "vernier/precision/plan.h"

#include "vernier/precision/plan_names.h"

namespace vernier {

const LayerPrecision* PrecisionPlan::find(const std::string& node) const {
  const auto found = layers.find(node);
  return found == layers.end() ? nullptr : &found->second;
}

bool PrecisionPlan::quantizes() const {
  return std::any_of(layers.begin(), layers.end(),
                     [](const auto& entry) { return !entry.second.quant.empty(); });
}

size_t PrecisionPlan::forbid_tf32() {
  tf32 = false;
  size_t changed = 0;
  for (auto& [node, layer] : layers) changed += std::exchange(layer.tf32, false) ? 1 : 0;
  return changed;
}

std::optional<LayerPrecision> PrecisionPlan::strictest(const Node& node) const {
  std::optional<LayerPrecision> result;
  for (const std::string& name : onnx_nodes(node)) {
    const LayerPrecision* layer = find(name);
    if (layer == nullptr) continue;
    const bool floats = is_float(layer->store);
    if (result && is_float(result->store) && !floats) continue;  // sizes and the like beside the numbers
    if (!result || is_float(result->store) != floats) {
      result = *layer;
      continue;
    }
    result->compute = wider(result->compute, layer->compute);
    result->accumulate = wider(result->accumulate, layer->accumulate);
    result->store = wider(result->store, layer->store);
    result->tf32 = result->tf32 || layer->tf32;
    if (layer->by > result->by) result->by = layer->by, result->why = layer->why;
    if (result->compute != ElementType::kInt8) result->quant.clear();
    if (result->weight_block == 0) result->weight_block = layer->weight_block;
  }
  return result;
}

std::string summary(const PrecisionPlan& plan) {
  std::map<std::string_view, size_t> counts;
  for (const auto& [node, layer] : plan.layers) {
    const bool int8 = layer.compute == ElementType::kInt8;
    if (is_float(layer.store))
      ++counts[int8 || layer.tf32 ? compute_name(layer) : element_type_short_name(layer.store)];
  }
  std::string text;
  for (const auto& [type, count] : counts)
    text += fmt::format("{}{} {} nodes", text.empty() ? "" : ", ", type, count);
  return text.empty() ? "no floats" : text;
}

bool holds(ElementType wide, ElementType narrow) {
  if (wide == narrow || wide == ElementType::kDouble) return true;
  if (wide == ElementType::kFloat) return narrow != ElementType::kDouble && narrow != ElementType::kInt64;
  return wide == ElementType::kInt32 && (narrow == ElementType::kInt8 || narrow == ElementType::kUint8);
}

ElementType wider(ElementType a, ElementType b) {
  if (holds(a, b)) return a;
  if (holds(b, a)) return b;
  return holds(ElementType::kFloat, a) && holds(ElementType::kFloat, b) ? ElementType::kFloat
                                                                        : ElementType::kDouble;
}

std::set<std::string> onnx_nodes(const Node& node) {
  return node.provenance.empty() ? std::set<std::string>{node.name} : node.provenance;
}

std::set<std::string> onnx_nodes(const Graph& graph) {
  std::set<std::string> names;
  for_each_graph(graph, [&](const Graph& inner) {
    for (const auto& node : inner.nodes()) names.merge(onnx_nodes(*node));
  });
  return names;
}

}  // namespace vernier

#include "vernier/inspect/model_summary.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/hash.h"
#include "vernier/ir/text.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/work.h"
#include "vernier/tensor/packing.h"

namespace vernier {

namespace {

constexpr int64_t kAttributeElements = 8;  // larger tensors in attributes are shown by their hash

std::string describe(const Value* value) {
  return value == nullptr ? "-" : value->name + ": " + value->type.text();
}

LayerSummary layer_of(const Node& node, int depth) {
  LayerSummary layer;
  layer.name = node.name;
  layer.op = node.qualified_op();
  layer.version = node.version;
  layer.depth = depth;
  for (const Value* input : node.inputs) layer.inputs.push_back(describe(input));
  for (const Value* output : node.outputs) layer.outputs.push_back(describe(output));
  for (const auto& [name, attribute] : node.attributes) {
    layer.attributes.push_back(name + " = " +
                               attribute_text(attribute, {.elide_constants_above = kAttributeElements}));
  }
  layer.flops = ops::flops_of(node);
  layer.bytes = ops::bytes_of(node);
  return layer;
}

class Summarizer {
 public:
  explicit Summarizer(ModelSummary& summary) : summary_(summary) {}

  void graph(const Graph& graph, int depth) {
    for (const auto& value : graph.values()) {
      if (!value->is_constant()) continue;
      summary_.weights.push_back(summarize_weight(value->name, *value->constant));
      summary_.parameters += value->constant->size();
      summary_.parameter_bytes += summary_.weights.back().bytes;
    }
    for (const auto& node : graph.nodes()) this->node(*node, depth);
  }

  std::optional<double> flops() const { return known_ ? std::optional(flops_) : std::nullopt; }

 private:
  void node(const Node& node, int depth) {
    ++summary_.operators[node.qualified_op()];
    for (const Value* output : node.outputs) {
      if (output != nullptr && output->type.is_tensor())
        ++summary_.types[std::string(element_type_short_name(output->type.tensor.element))];
    }
    const auto* def = ops::OpRegistry::instance().find(node);
    const bool computes =
        def != nullptr &&
        (def->traits & (ops::kPointwise | ops::kReduction | ops::kContraction | ops::kNormalisation)) != 0;
    const Value* first = node.input(0);
    if (computes && first != nullptr && first->type.is_tensor()) {
      if (first->type.tensor.element == ElementType::kInt64) summary_.int64_nodes.push_back(node.name);
      if (first->type.tensor.element == ElementType::kDouble) summary_.double_nodes.push_back(node.name);
    }
    summary_.layers.push_back(layer_of(node, depth));
    const auto& layer = summary_.layers.back();
    known_ = known_ && layer.flops && node.regions.empty();
    flops_ += layer.flops.value_or(0);
    for (const auto& [name, region] : node.regions) graph(*region, depth + 1);
  }

  ModelSummary& summary_;
  bool known_ = true;
  double flops_ = 0;
};

}  // namespace

ModelSummary summarize(const ImportedModel& imported) {
  const Model& model = imported.model;
  ModelSummary summary;
  summary.ir_version = model.ir_version;
  summary.producer = model.producer + (model.producer_version.empty() ? "" : " " + model.producer_version);
  summary.hash = hash_to_text(imported.hash);
  summary.file_bytes = imported.file_bytes;
  summary.opsets = model.opsets;
  summary.notes = messages_of(imported.notes);
  std::set<std::string> symbols;
  for (const Value* input : model.graph->inputs) {
    if (input->is_constant()) continue;
    summary.inputs.push_back({input->name, input->type.text()});
    if (!input->type.is_tensor() || !input->type.tensor.shape) continue;
    for (const Dim& dim : *input->type.tensor.shape) symbols.merge(dim.symbols());
  }
  summary.symbols.assign(symbols.begin(), symbols.end());
  for (const Value* output : model.graph->outputs)
    summary.outputs.push_back({output->name, output->type.text()});
  Summarizer summarizer(summary);
  summarizer.graph(*model.graph, 0);
  summary.flops = summarizer.flops();
  return summary;
}

namespace {

// The smallest normal number of a float type.
double smallest_normal(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kBFloat16: return 0x1p-126;
    case ElementType::kDouble: return 0x1p-1022;
    case ElementType::kFloat16: return 0x1p-14;
    case ElementType::kFloat8E4M3FN: return 0x1p-6;
    case ElementType::kFloat8E4M3FNUZ: return 0x1p-7;
    case ElementType::kFloat8E5M2: return 0x1p-14;
    case ElementType::kFloat8E5M2FNUZ: return 0x1p-15;
    case ElementType::kFloat4E2M1: return 1;
    default: return 0;
  }
}

}  // namespace

WeightSummary summarize_weight(const std::string& name, const Tensor& tensor) {
  WeightSummary summary;
  summary.name = name;
  summary.type = std::string(element_type_short_name(tensor.type())) + dims_text(tensor.dims());
  summary.elements = tensor.size();
  if (tensor.type() == ElementType::kString) {
    for (const auto& text : tensor.values<std::string>()) summary.bytes += text.size();
    return summary;
  }
  summary.bytes = packed_size(tensor.type(), tensor.size());
  if (is_complex(tensor.type())) return summary;
  const double normal = smallest_normal(tensor.type());
  bool first = true;
  for (const double value : tensor.to_doubles()) {
    if (!std::isfinite(value)) {
      ++summary.not_finite;
      continue;
    }
    summary.zeros += value == 0;
    summary.subnormal += value != 0 && std::abs(value) < normal;
    summary.min = first ? value : std::min(summary.min, value);
    summary.max = first ? value : std::max(summary.max, value);
    first = false;
  }
  return summary;
}

}  // namespace vernier

#include "vernier/ops/work.h"

#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier::ops {

namespace {

std::optional<std::vector<Dims>> sizes(const std::vector<Value*>& values) {
  std::vector<Dims> all;
  for (const Value* value : values) {
    if (value == nullptr) {
      all.emplace_back();
      continue;
    }
    if (!value->type.is_tensor() || !value->type.tensor.shape) return std::nullopt;
    auto dims = to_dims(*value->type.tensor.shape);
    if (!dims) return std::nullopt;
    all.push_back(std::move(*dims));
  }
  return all;
}

}  // namespace

std::optional<double> flops_of(const Node& node) {
  if (is_group(node)) {
    double sum = 0;
    for (const auto& member : body(node).nodes()) {
      const auto flops = flops_of(*member);
      if (!flops) return std::nullopt;
      sum += *flops;
    }
    return sum;
  }
  const auto inputs = sizes(node.inputs), outputs = sizes(node.outputs);
  if (!inputs || !outputs) return std::nullopt;
  const OpDef* def = OpRegistry::instance().find(node);
  if (def == nullptr) return 0;
  if (def->flops != nullptr) return def->flops(node, *inputs, *outputs);
  const bool computes = (def->traits & (kDataMovement | kView)) == 0;
  return computes && !outputs->empty() ? static_cast<double>(element_count(outputs->front())) : 0;
}

std::optional<double> bytes_of(const Node& node) {
  double sum = 0;
  for (const auto* values : {&node.inputs, &node.outputs}) {
    const auto dims = sizes(*values);
    if (!dims) return std::nullopt;
    for (size_t i = 0; i < values->size(); ++i) {
      if ((*values)[i] == nullptr) continue;
      sum += static_cast<double>(element_count((*dims)[i])) *
             element_bits((*values)[i]->type.tensor.element) / 8;
    }
  }
  return sum;
}

}  // namespace vernier::ops

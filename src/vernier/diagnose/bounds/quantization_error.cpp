#include "vernier/diagnose/bounds/quantization_error.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "vernier/backends/reference/interpreter.h"
#include "vernier/base/hash.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/quant/quantization.h"
#include "vernier/tensor/drawn_blocks.h"

namespace vernier {

namespace {

// The step by which the codes of a type reach from the zero point to the least and the largest of the
// elements.
double needed_step(double least, double largest, ElementType codes, double zero_point) {
  const auto first = static_cast<double>(integer_min(codes)), last = static_cast<double>(integer_max(codes));
  return std::max(
      {largest / std::max(1.0, last - zero_point), -least / std::max(1.0, zero_point - first), 0.0});
}

// The index of the scale of an element.
size_t scale_of(const ops::Granularity& grain, size_t element) {
  const auto i = static_cast<int64_t>(element), row = i / grain.inners;
  return static_cast<size_t>(row / grain.length * grain.outer_stride +
                             row % grain.length / grain.block * grain.block_stride +
                             i % grain.inners * grain.inner_stride);
}

// Gives for each scale the step that its elements need, or that of the graph where it is no wider.
std::vector<double> steps(const ops::Granularity& grain, std::span<const double> values,
                          std::span<const double> scales, ElementType codes) {
  std::vector<double> least(scales.size()), largest(scales.size()), found(scales.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t scale = scale_of(grain, i);
    least[scale] = std::min(least[scale], values[i]);
    largest[scale] = std::max(largest[scale], values[i]);
  }
  for (size_t s = 0; s < scales.size(); ++s)
    found[s] = std::min(scales[s], needed_step(least[s], largest[s], codes, 0));
  return found;
}

// Zeros among weights have a code of their own; others may be what rounding left of something.
Tensor moved(const Node& node, const Tensor& tensor, const Tensor& codes, const Tensor& scale,
             uint64_t seed) {
  const bool is_weight = node.inputs[0]->is_constant();
  auto values = tensor.to_doubles();
  const auto grain = ops::granularity_of(tensor.dims(), scale.dims(), ops::integer_attribute(node, "axis"),
                                         ops::integer_attribute(node, "block_size"));
  const auto step = steps(grain, values, scale.to_doubles(), codes.type());
  draw_blocks(std::span(values), seed, [&](std::span<double> part, SplitMix64& random) {
    std::uniform_real_distribution<double> half(-0.5, 0.5);
    const auto first = static_cast<size_t>(part.data() - values.data());
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i] != 0 || !is_weight) part[i] += half(random) * step[scale_of(grain, first + i)];
    }
  });
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

using Scales = std::map<float, float>;  // that the graph has, and that are needed

// Finds the scales that are needed by QuantizeLinear nodes of one scale for all elements.
Scales needed_scales(const Graph& graph, const NamedData& inputs) {
  Scales needed;
  InterpreterOptions options;
  options.revises_members = options.revises_regions = true;
  options.revise = [&](const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
    if (node.op != "QuantizeLinear" || operands.size() < 2 || operands[1]->tensor.size() != 1) return;
    const auto values = operands[0]->tensor.to_doubles();
    const auto [least, largest] = std::minmax_element(values.begin(), values.end());
    if (least == values.end()) return;
    const bool has_zero = operands.size() > 2 && operands[2] != nullptr;
    const double zero = has_zero ? operands[2]->tensor.to_doubles().at(0) : 0;
    const double step = needed_step(*least, *largest, results[0].tensor.type(), zero);
    float& most = needed[static_cast<float>(operands[1]->tensor.to_doubles().at(0))];
    most = std::max(most, static_cast<float>(step));
  };
  reference_outputs(graph, inputs, options);
  return needed;
}

bool is_scalar_float(const Value* value) {
  return value != nullptr && value->is_constant() && value->constant->type() == ElementType::kFloat &&
         value->constant->size() == 1;
}

}  // namespace

std::unique_ptr<Graph> with_needed_scales(const Graph& graph, const NamedData& inputs) {
  auto fine = clone(graph);
  const Scales needed = needed_scales(*fine, inputs);
  const Surroundings around(*fine);
  std::set<const Value*> scales;
  for (const Node* node : around.nodes()) {
    const bool reads_codes = node->op == "DequantizeLinear" && around.constant(node->input(0)) == nullptr;
    const Value* scale = around.resolved(node->input(1));
    if ((node->op == "QuantizeLinear" || reads_codes) && is_scalar_float(scale)) scales.insert(scale);
  }
  for (const auto& value : fine->values()) {
    if (!scales.contains(value.get())) continue;
    const auto had = static_cast<float>(value->constant->to_doubles()[0]);
    const auto found = needed.find(had);
    if (found == needed.end() || !(found->second > 0) || found->second >= had) continue;
    value->constant = Tensor::from_doubles(ElementType::kFloat, value->constant->dims(),
                                           std::array{static_cast<double>(found->second)});
  }
  return fine;
}

NamedData run_with_quantization_noise(const Graph& graph, const NamedData& inputs, uint64_t seed) {
  InterpreterOptions options;
  options.revises_members = options.revises_regions = true;
  options.revise = [seed](const Node& node, std::span<const Datum* const> operands,
                          std::vector<Datum>& results) {
    if (node.op != "DequantizeLinear" || operands.size() < 2 || operands[0] == nullptr ||
        operands[1] == nullptr || !results[0].is_tensor() || !is_float(results[0].tensor.type()))
      return;
    results[0].tensor = moved(node, results[0].tensor, operands[0]->tensor, operands[1]->tensor,
                              hash_text(node.outputs[0]->name, seed));
  };
  return reference_outputs(graph, inputs, options);
}

}  // namespace vernier

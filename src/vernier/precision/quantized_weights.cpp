#include "vernier/precision/quantized_weights.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/operands.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/quantization/quantization.h"
#include "vernier/precision/node_class.h"
#include "vernier/precision/plan.h"

namespace vernier {

namespace {

constexpr double kInt8Max = 127, kInt4Max = 7;

std::vector<double> finite_values(const Tensor& weights) {
  auto values = weights.to_doubles();
  const auto wrong =
      std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (wrong != values.end())
    throw bad_input("the weights hold {} at element {}, which no integer stands for",
                    std::isnan(*wrong) ? "NaN" : "an infinity", wrong - values.begin())
        .advise("keep the node in float (--keep-fp32), or mend its weights");
  return values;
}

int64_t product(const Dims& dims, size_t first, size_t last) {
  int64_t result = 1;
  for (size_t i = first; i < last; ++i) result *= dims[i];
  return result;
}

// Elements of a tensor that share a scale.
struct Block {
  const double* first;
  size_t count, step;

  double operator[](size_t i) const { return first[i * step]; }
};

double square_error(const Block& block, double scale) {
  double sum = 0;
  for (size_t i = 0; i < block.count; ++i) {
    const double code = std::clamp(std::nearbyint(block[i] / scale), -kInt4Max, kInt4Max);
    const double error = block[i] - code * scale;
    sum += error * error;
  }
  return sum;
}

// With so few codes it pays to clip what is far off.
float best_scale(const Block& block) {
  constexpr int kSteps = 32, kNarrowest = 16;
  double largest = 0;
  for (size_t i = 0; i < block.count; ++i) largest = std::max(largest, std::abs(block[i]));
  float best = 0;
  double least = 0;
  for (int step = kSteps; step >= kNarrowest; --step) {
    const auto scale = static_cast<float>(largest / kInt4Max * step / kSteps);
    if (!(scale > 0)) break;
    const double error = square_error(block, static_cast<double>(scale));
    if (best == 0 || error < least) best = scale, least = error;
  }
  return best > 0 ? best : 1;
}

}  // namespace

QuantizedWeights quantize_weights(const Tensor& weights, int64_t axis, const std::vector<double>& least) {
  const auto values = finite_values(weights);
  const auto at = static_cast<size_t>(axis);
  const auto along = static_cast<size_t>(weights.dims().at(at));
  const auto inner = static_cast<size_t>(product(weights.dims(), at + 1, weights.dims().size()));
  std::vector<float> scales(along, 0);
  const auto slice = [&](size_t i) { return i / inner % along; };
  for (size_t i = 0; i < values.size(); ++i)
    scales[slice(i)] = std::max(scales[slice(i)], static_cast<float>(std::abs(values[i]) / kInt8Max));
  for (size_t i = 0; i < scales.size(); ++i) {
    if (i < least.size()) scales[i] = std::max(scales[i], static_cast<float>(least[i]));
    if (!(scales[i] > 0)) scales[i] = 1;
  }
  std::vector<int64_t> codes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double code = std::nearbyint(values[i] / static_cast<double>(scales[slice(i)]));
    codes[i] = static_cast<int64_t>(std::clamp(code, -kInt8Max, kInt8Max));
  }
  return {Tensor::from_ints(ElementType::kInt8, weights.dims(), codes),
          Tensor::from<float>(ElementType::kFloat, {static_cast<int64_t>(along)}, scales), axis};
}

QuantizedWeights quantize_blocks(const Tensor& weights, int64_t axis, int64_t block) {
  const auto values = finite_values(weights);
  const auto at = static_cast<size_t>(axis);
  Dims dims = weights.dims();
  const int64_t along = dims.at(at), blocks = (along + block - 1) / block;
  const int64_t inner = product(dims, at + 1, dims.size());
  dims[at] = blocks;
  std::vector<float> scales(static_cast<size_t>(product(dims, 0, dims.size())));
  std::vector<int64_t> codes(values.size());
  parallel_for(static_cast<int64_t>(scales.size()), 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % inner, number = i / inner % blocks, outer = i / inner / blocks;
      const int64_t start = number * block, first = (outer * along + start) * inner + column;
      const Block part{values.data() + first, static_cast<size_t>(std::min(block, along - start)),
                       static_cast<size_t>(inner)};
      const float scale = scales[static_cast<size_t>(i)] = best_scale(part);
      for (size_t k = 0; k < part.count; ++k) {
        const double code = std::nearbyint(part[k] / static_cast<double>(scale));
        codes[static_cast<size_t>(first) + k * part.step] =
            static_cast<int64_t>(std::clamp(code, -kInt4Max, kInt4Max));
      }
    }
  });
  return {Tensor::from_ints(ElementType::kInt4, weights.dims(), codes),
          Tensor::from<float>(ElementType::kFloat, dims, scales), axis, block};
}

QuantizedWeights quantize_weights(const Node& node, const Tensor& weights, int64_t block,
                                  const std::vector<double>& least) {
  const int64_t outputs = output_axis(node, weights.rank());
  try {
    // Blocks are made of matrices alone.
    return block > 0 ? quantize_blocks(weights, 1 - outputs, block)
                     : quantize_weights(weights, outputs, least);
  } catch (Error& error) {
    throw error.at_node(*onnx_nodes(node).begin());
  }
}

int64_t output_axis(const Node& node, int64_t rank) {
  return ops::output_channel_axis(node, rank).value_or(rank - 1);
}

bool has_block_weights(const Node& node) {
  if (!node.domain.empty() || (node.op != "MatMul" && node.op != "Gemm")) return false;
  const Value* weights = node.input(1);
  if (weights == nullptr || element_of(weights) != ElementType::kFloat) return false;
  const auto content = known_content(weights);
  return content && content->rank() == 2;
}

namespace {

constexpr double kLargestCode = 0x1p30;

// A constant that an Add behind the product adds to each of its rows.
std::optional<Tensor> added_bias(const Node& product) {
  for (const auto& node : product.graph().nodes()) {
    if (!node->domain.empty() || node->op != "Add") continue;
    const Value* other = other_operand(*node, product.output(0));
    if (other == nullptr) continue;
    auto bias = known_content(other);
    if (bias && is_float(bias->type())) return bias;
  }
  return std::nullopt;
}

std::optional<Tensor> bias_of(const Node& node) {
  const auto bias = ops::input_of(node, ops::Role::kBias);
  return bias ? known_content(node.input(*bias)) : added_bias(node);
}

}  // namespace

std::vector<double> least_weight_scales(const Node& node, int64_t channels) {
  const Value* input = node.input(0);
  const auto quantization = input == nullptr ? std::nullopt : Quantization::of(input->producer());
  if (!quantization || !quantization->is_uniform() || channels < 1) return {};
  const auto bias = bias_of(node);
  const bool gemm = node.op == "Gemm";
  const double alpha = gemm ? static_cast<double>(ops::real_attribute(node, "alpha")) : 1,
               beta = gemm ? static_cast<double>(ops::real_attribute(node, "beta")) : 1;
  if (!bias || !is_float(bias->type()) || alpha == 0) return {};
  const bool by_channel = bias->rank() > 0 && bias->dims().back() == channels;
  if (!by_channel && bias->rank() > 0 && bias->dims().back() != 1) return {};  // no bias of channels
  std::vector<double> least(static_cast<size_t>(channels), 0);
  const auto values = bias->to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const double needed = std::abs(values[i] * beta / alpha) / (quantization->scales[0] * kLargestCode);
    if (!std::isfinite(needed)) continue;
    if (by_channel)
      least[i % least.size()] = std::max(least[i % least.size()], needed);
    else
      for (double& each : least) each = std::max(each, needed);
  }
  return least;
}

}  // namespace vernier

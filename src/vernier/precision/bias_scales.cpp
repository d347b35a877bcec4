#include "vernier/precision/bias_scales.h"

#include <algorithm>
#include <cmath>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/passes/build.h"
#include "vernier/passes/match.h"
#include "vernier/passes/quantization/quantisation.h"

namespace vernier {

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
  return node.op == "MatMul" ? added_bias(node) : known_content(node.input(2));
}

}  // namespace

std::vector<double> least_weight_scales(const Node& node, int64_t channels) {
  const Value* input = node.input(0);
  const auto quantisation = input == nullptr ? std::nullopt : Quantisation::of(input->producer());
  if (!quantisation || !quantisation->is_uniform() || channels < 1) return {};
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
    const double needed = std::abs(values[i] * beta / alpha) / (quantisation->scales[0] * kLargestCode);
    if (!std::isfinite(needed)) continue;
    if (by_channel)
      least[i % least.size()] = std::max(least[i % least.size()], needed);
    else
      for (double& each : least) each = std::max(each, needed);
  }
  return least;
}

}  // namespace vernier

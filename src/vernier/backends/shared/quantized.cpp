#include "vernier/backends/shared/quantized.h"

#include <cmath>

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/group.h"

namespace vernier {

namespace {

using Kind = QuantizedStage::Kind;

struct Refusal {
  std::string reason;
};

// How many channels the result has.
int64_t channels_of(const Node& anchor, const Dims& b) {
  const bool first =
      anchor.op.find("Conv") != std::string::npos || ops::integer_attribute(anchor, "transB") != 0;
  return b.empty() ? 1 : first ? b.front() : b.back();
}

std::vector<double> broadcast(std::vector<double> values, int64_t count) {
  if (values.size() == 1) values.assign(static_cast<size_t>(count), values.front());
  if (static_cast<int64_t>(values.size()) != count)
    throw Refusal{"operands that are not one for each channel"};
  return values;
}

// Reads the body of a group, node by node.
class GroupParser {
 public:
  explicit GroupParser(const KernelRequest& request) : request_(request), body_(ops::body(request.node)) {}

  QuantizedProduct parse() {
    for (const auto& node : body_.nodes()) {
      if (node->op == "DequantizeLinear")
        dequantize(*node);
      else if (product_.anchor == nullptr)
        contract(*node);
      else
        follow(*node);
    }
    auto& stages = product_.stages;
    if (is_8bit(request_.out().element)) {
      if (stages.empty() || stages.back().kind != Kind::kRequantize) throw Refusal{"no QuantizeLinear last"};
      product_.result = stages.back().affine;
      stages.pop_back();
    }
    return std::move(product_);
  }

 private:
  struct Dequantized {
    size_t input;  // of the request
    std::vector<double> scales, zero_points;
  };

  std::optional<size_t> place(const Value* value) const {
    const auto found = std::find(body_.inputs.begin(), body_.inputs.end(), value);
    if (found == body_.inputs.end()) return std::nullopt;
    return static_cast<size_t>(found - body_.inputs.begin());
  }

  std::vector<double> content(const Value* value) const {
    const auto at = place(value);
    if (!at || request_.in(*at).constant == nullptr) throw Refusal{"parameters that are not known"};
    return request_.in(*at).constant->to_doubles();
  }

  Affine affine(const Node& node) const {
    const auto scale = content(node.input(1));
    const auto zero = node.input(2) == nullptr ? std::vector<double>{0} : content(node.input(2));
    if (scale.size() != 1 || zero.size() != 1) throw Refusal{"scales of channels"};
    return {scale[0], zero[0]};
  }

  void dequantize(const Node& node) {
    const auto at = place(node.input(0));
    if (!at) {  // what was quantized right before
      chain_ = node.output(0);
      return;
    }
    Dequantized found{*at, content(node.input(1)), {}};
    found.zero_points =
        node.input(2) == nullptr ? std::vector<double>(found.scales.size()) : content(node.input(2));
    dequantized_[node.output(0)] = std::move(found);
  }

  // A known operand of floats, or one that is dequantized.
  std::vector<double> reals(const Value* value) const {
    const auto found = dequantized_.find(value);
    if (found == dequantized_.end()) return content(value);
    const auto& [input, scales, zeros] = found->second;
    if (request_.in(input).constant == nullptr) throw Refusal{"an operand that is not known"};
    auto values = request_.in(input).constant->to_doubles();
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t at = scales.size() == 1 ? 0 : i;
      values[i] = (values[i] - zeros.at(at)) * scales.at(at);
    }
    return values;
  }

  void contract(const Node& node) {
    const auto a = dequantized_.find(node.input(0)), b = dequantized_.find(node.input(1));
    if (a == dequantized_.end() || b == dequantized_.end() || a->second.scales.size() != 1)
      throw Refusal{"operands that are not dequantized"};
    product_.anchor = &node;
    product_.a = a->second.input;
    product_.b = b->second.input;
    product_.a_affine = {a->second.scales[0], a->second.zero_points.at(0)};
    product_.b_scales = b->second.scales;
    product_.b_zero_points = b->second.zero_points;
    channels_ = channels_of(node, request_.in(product_.b).dims);
    if (node.input(2) != nullptr) product_.bias = broadcast(reals(node.input(2)), channels_);
    chain_ = node.output(0);
  }

  void follow(const Node& node) {
    QuantizedStage stage{Kind::kRelu};
    if (node.op == "Relu" || node.op == "LeakyRelu") {
      stage.alpha = node.op == "Relu" ? 0 : ops::real_attribute(node, "alpha");
    } else if (node.op == "Clip") {
      stage.kind = Kind::kClip;
      stage.alpha = bound(node, 1, "min", -HUGE_VALF);
      stage.beta = bound(node, 2, "max", HUGE_VALF);
      if (stage.alpha > stage.beta) throw Refusal{"a Clip of no range"};
    } else if (node.op == "QuantizeLinear") {
      stage.kind = Kind::kRequantize;
      stage.affine = affine(node);
      stage.type = node.output(0)->type.tensor.element;
    } else if (node.op == "Add") {
      add(node);
      chain_ = node.output(0);
      return;
    } else {
      throw Refusal{fmt::format("{} after a product of integers", node.op)};
    }
    product_.stages.push_back(std::move(stage));
    chain_ = node.output(0);
  }

  float bound(const Node& node, size_t input, const char* name, float fallback) const {
    if (node.version < 11) return ops::clip_bound_attribute(node, name).value_or(fallback);
    if (node.input(input) == nullptr) return fallback;
    return static_cast<float>(broadcast(reals(node.input(input)), 1)[0]);
  }

  void add(const Node& node) {
    const Value* other = node.input(node.input(0) == chain_ ? 1 : 0);
    const auto tensor = dequantized_.find(other);
    QuantizedStage stage{Kind::kAddTensor};
    if (tensor != dequantized_.end() && request_.in(tensor->second.input).constant == nullptr) {
      if (request_.in(tensor->second.input).dims != request_.out().dims)
        throw Refusal{"a sum that broadcasts"};
      stage.operand = tensor->second.input;
      stage.affine = {tensor->second.scales.at(0), tensor->second.zero_points.at(0)};
    } else {
      stage.kind = Kind::kAddVector;
      stage.vector = broadcast(reals(other), channels_);
      if (product_.stages.empty() && product_.bias.empty()) {
        product_.bias = std::move(stage.vector);
        return;
      }
    }
    product_.stages.push_back(std::move(stage));
  }

  const KernelRequest& request_;
  const Graph& body_;
  QuantizedProduct product_;
  int64_t channels_ = 0;
  std::map<const Value*, Dequantized> dequantized_;
  const Value* chain_ = nullptr;
};

std::vector<double> known(const KernelRequest& request, size_t input) {
  if (!request.has(input)) return {0};
  if (request.in(input).constant == nullptr) throw Refusal{"parameters that are not known"};
  return request.in(input).constant->to_doubles();
}

Affine required_affine(const KernelRequest& request, size_t scale, size_t zero_point) {
  const auto affine = known_affine(request, scale, zero_point);
  if (!affine) throw Refusal{"scales of rows, or such that are not known"};
  return *affine;
}

// QLinearConv, QLinearMatMul and QGemm have operands, scales and zero points in one order, but for the bias.
QuantizedProduct parse_operator(const KernelRequest& request) {
  enum Input : size_t { kA, kAScale, kAZeroPoint, kB, kBScale, kBZeroPoint };
  const bool gemm = request.node.op == "QGemm";
  const size_t bias = gemm ? 6 : 8, result = gemm ? 7 : 6;
  QuantizedProduct product;
  product.anchor = &request.node;
  product.a = kA;
  product.b = kB;
  product.a_affine = required_affine(request, kAScale, kAZeroPoint);
  if (gemm) product.a_affine.scale *= static_cast<double>(ops::real_attribute(request.node, "alpha"));
  product.b_scales = known(request, kBScale);
  product.b_zero_points = known(request, kBZeroPoint);
  if (ops::integer_attribute(request.node, "transA") != 0 ||
      ops::integer_attribute(request.node, "channels_last") != 0)
    throw Refusal{"operands that are transposed"};
  const int64_t channels = channels_of(request.node, request.in(kB).dims);
  if (request.has(bias)) {
    product.bias = broadcast(known(request, bias), channels);
    const auto scales = broadcast(product.b_scales, channels);
    for (size_t c = 0; c < scales.size(); ++c) product.bias[c] *= product.a_affine.scale * scales[c];
  }
  if (request.has(result)) product.result = required_affine(request, result, result + 1);
  return product;
}

// A quotient by another scale may be a NaN.
std::optional<Affine> ordinary(double scale, double zero_point) {
  if (!(scale > 0) || !std::isfinite(scale)) return std::nullopt;
  return Affine{scale, zero_point};
}

// Kernels count in units of scales, clamp by comparisons, and round numbers to integers, which gives what
// ONNX gives only as long as every number is finite in each of these units: a NaN, an infinity or a scale of
// 0 among the parameters makes a NaN, of which QuantizeLinear makes the lowest integer.
bool stays_finite(const QuantizedProduct& product) {
  constexpr double kMostFloat = std::numeric_limits<float>::max(), kMostSum = 0x1p31, kMostByte = 0x1p9;
  double most = 0, least_unit = HUGE_VAL;
  bool ordinary = true;
  const auto number = [&](double value) {
    ordinary = ordinary && std::isfinite(value);
    most = std::max(most, std::abs(value));
  };
  const auto unit = [&](double scale) {
    ordinary = ordinary && scale > 0;
    least_unit = std::min(least_unit, scale);
    number(kMostByte * scale);
  };
  for (size_t i = 0; i < product.b_scales.size(); ++i)
    number(product.a_affine.scale * product.b_scales[i] * kMostSum);
  for (size_t i = 0; i < product.bias.size(); ++i) {
    const double scale = product.a_affine.scale * product.b_scales[product.b_scales.size() == 1 ? 0 : i];
    number(product.bias[i]);
    ordinary = ordinary && std::abs(product.bias[i] / scale) <= kMostFloat;
  }
  for (const QuantizedStage& stage : product.stages) {
    if (stage.kind == Kind::kAddTensor || stage.kind == Kind::kRequantize) unit(stage.affine.scale);
    for (const double value : stage.vector) number(value);
    if (stage.kind == Kind::kRelu) number(stage.alpha);
    // Infinite bounds are none.
    if (stage.kind == Kind::kClip) ordinary = ordinary && stage.alpha < HUGE_VALF && stage.beta > -HUGE_VALF;
  }
  unit(product.result ? product.result->scale : 1);
  return ordinary && most / least_unit <= kMostFloat;
}

}  // namespace

std::optional<Affine> known_affine(const KernelRequest& request, size_t scale, size_t zero_point) {
  const auto one = [&](size_t input) -> std::optional<double> {
    if (!request.has(input) || request.in(input).constant == nullptr || request.in(input).size() != 1)
      return std::nullopt;
    return request.in(input).constant->to_doubles()[0];
  };
  const auto known_scale = one(scale);
  const auto known_zero = request.has(zero_point) ? one(zero_point) : 0.0;
  if (!known_scale || !known_zero) return std::nullopt;
  return ordinary(*known_scale, *known_zero);
}

std::optional<Affine> member_affine(const KernelRequest& request, const Node& node) {
  const Graph& body = ops::body(request.node);
  const auto element = [&](const Value* value) -> std::optional<double> {
    const auto at = std::find(body.inputs.begin(), body.inputs.end(), value) - body.inputs.begin();
    const auto& operand = request.inputs.at(static_cast<size_t>(at));
    if (!operand || operand->constant == nullptr || operand->size() != 1) return std::nullopt;
    return operand->constant->to_doubles()[0];
  };
  const auto scale = element(node.input(1));
  const auto zero = node.input(2) == nullptr ? 0.0 : element(node.input(2));
  if (!scale || !zero) return std::nullopt;
  return ordinary(*scale, *zero);
}

std::optional<QuantizedProduct> parse_quantized(const KernelRequest& request, std::string& reason) {
  try {
    auto product = ops::is_group(request.node) ? GroupParser(request).parse() : parse_operator(request);
    if (!is_8bit(request.in(product.a).element) || !is_8bit(request.in(product.b).element))
      throw Refusal{"operands of more than 8 bits"};
    if (!stays_finite(product))
      throw Refusal{"parameters that are not finite, or scales that they do not fit"};
    return product;
  } catch (const Refusal& refusal) {
    reason = refusal.reason;
    return std::nullopt;
  }
}

}  // namespace vernier

#include "vernier/backends/shared/pointwise/lowering.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier::pointwise {

namespace {

using Register = Lowering::Register;

// A scale or zero point: of the whole tensor, or of each index along an axis.
Register parameter(Lowering& lowering, const Node& node, size_t at) {
  const size_t input = lowering.input_of(node.input(at));
  const Operand& operand = lowering.request().in(input);
  if (operand.size() == 1) return lowering.load(input, {});
  const bool has_axis = node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
  if (operand.rank() != 1 || !has_axis || ops::integer_attribute(node, "block_size") != 0)
    throw Refused{"scales of blocks"};
  const int64_t rank = lowering.request().out().rank(), axis = ops::integer_attribute(node, "axis");
  Dims aligned(static_cast<size_t>(rank), 1);
  aligned.at(static_cast<size_t>(axis < 0 ? axis + rank : axis)) = operand.size();
  return lowering.load(input, aligned);
}

// Scale and zero point of a whole tensor, in FLOAT, if they are known.
struct Uniform {
  double scale = 1, zero_point = 0;
};
std::optional<Uniform> uniform(const Lowering& lowering, const Node& node, size_t scale, size_t zero_point) {
  const auto known = lowering.scalar(node.input(scale));
  const bool has_zero_point = node.input(zero_point) != nullptr;
  const auto zero = has_zero_point ? lowering.scalar(node.input(zero_point)) : 0.0;
  if (!known || !zero) return std::nullopt;
  return Uniform{*known, *zero};
}

Register with_zero_point(Lowering& lowering, const Node& node, size_t at, std::string_view op,
                         Register value) {
  if (node.input(at) == nullptr || lowering.scalar(node.input(at)) == 0.0) return value;
  return lowering.apply(op, {value, lowering.cast(parameter(lowering, node, at), value.type)});
}

// (x - zero point) * scale in `type`.
Register real(Lowering& lowering, const Node& node, size_t x, ElementType type) {
  const Register value =
      with_zero_point(lowering, node, x + 2, "Sub", lowering.cast(lowering.read(node, x), type));
  return lowering.apply("Mul", {value, lowering.cast(parameter(lowering, node, x + 1), type)});
}

// Products of 8 or 16 bits and a scale are rounded once in FLOAT, as they should be; of 32 bits in DOUBLE.
Register dequantize(Lowering& lowering, const Node& node) {
  const ElementType from = lowering.element_of(node.input(0)),
                    scale_type = lowering.element_of(node.input(1)), to = lowering.result_type(node);
  const size_t bytes = element_size(from);
  if (!is_integer(from) || bytes > 4 || register_type(scale_type) != ElementType::kFloat ||
      to != scale_type || (bytes > 1 && to != ElementType::kFloat))
    throw Refused{"DequantizeLinear of other types"};
  const auto known = uniform(lowering, node, 1, 2);
  if (known && bytes <= 2)
    return lowering.dequantize(lowering.read(node, 0), known->scale, known->zero_point);
  const Register value = real(lowering, node, 0, bytes > 2 ? ElementType::kDouble : ElementType::kFloat);
  return lowering.cast(value, ElementType::kFloat);
}

Register quantize(Lowering& lowering, const Node& node) {
  const ElementType from = lowering.element_of(node.input(0)),
                    scale_type = lowering.element_of(node.input(1)), to = lowering.result_type(node);
  const auto precision = static_cast<ElementType>(ops::integer_attribute(node, "precision"));
  const bool narrow = scale_type != ElementType::kFloat;
  if (register_type(from) != ElementType::kFloat || register_type(scale_type) != ElementType::kFloat ||
      (narrow && from != scale_type) || (precision != ElementType::kUndefined && precision != scale_type))
    throw Refused{"QuantizeLinear of other types"};
  const Register x = lowering.read(node, 0);
  if (const auto known = uniform(lowering, node, 1, 2); known && !narrow)
    return lowering.quantize(x, to, known->scale, known->zero_point);
  const Register quotient = lowering.apply("Div", {x, parameter(lowering, node, 1)});
  const Register rounded = lowering.apply("Round", {lowering.round(quotient, scale_type)});
  return lowering.saturate(with_zero_point(lowering, node, 2, "Add", rounded), to);
}

void refuse_vectors(const Lowering& lowering, const Node& node, std::initializer_list<size_t> scales) {
  for (const size_t scale : scales) {
    if (lowering.request().in(lowering.input_of(node.input(scale))).size() != 1)
      throw Refused{"scales of more than the whole tensor"};
  }
}

}  // namespace

Register requantize(Lowering& lowering, const Node& node, Register real, size_t scale) {
  const Register divisor = lowering.cast(parameter(lowering, node, scale), ElementType::kDouble);
  const Register quotient = lowering.apply("Div", {real, divisor});
  const Register rounded = lowering.apply("Round", {lowering.cast(quotient, ElementType::kFloat)});
  const ElementType to = lowering.result_type(node);
  return lowering.saturate(with_zero_point(lowering, node, scale + 1, "Add", rounded), to);
}

namespace {

// QLinearAdd and QLinearMul.
Register qlinear_arithmetic(Lowering& lowering, const Node& node) {
  enum Input : size_t { kA = 0, kB = 3, kScale = 6 };
  constexpr auto kWide = ElementType::kDouble;
  refuse_vectors(lowering, node, {kA + 1, kB + 1, kScale});
  const Register a = real(lowering, node, kA, kWide), b = real(lowering, node, kB, kWide);
  const Register result = lowering.apply(node.op == "QLinearAdd" ? "Add" : "Mul", {a, b});
  return requantize(lowering, node, result, kScale);
}

// QLinearWhere.
Register qlinear_select(Lowering& lowering, const Node& node) {
  enum Input : size_t { kCondition, kX, kXScale, kXZeroPoint, kY, kYScale, kYZeroPoint, kScale };
  constexpr auto kWide = ElementType::kDouble;
  refuse_vectors(lowering, node, {kXScale, kYScale, kScale});
  const Register condition = lowering.read(node, kCondition), x = real(lowering, node, kX, kWide),
                 y = real(lowering, node, kY, kWide);
  return requantize(lowering, node, lowering.select(condition, x, y), kScale);
}

}  // namespace

std::optional<Register> lower_quantized(Lowering& lowering, const Node& node) {
  if (node.op == "QuantizeLinear") return quantize(lowering, node);
  if (node.op == "DequantizeLinear") return dequantize(lowering, node);
  if (node.op == "QLinearAdd" || node.op == "QLinearMul") return qlinear_arithmetic(lowering, node);
  if (node.op == "QLinearWhere") return qlinear_select(lowering, node);
  return std::nullopt;
}

}  // namespace vernier::pointwise

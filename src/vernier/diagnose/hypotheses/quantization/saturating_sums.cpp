// B29: products of bytes are added in 16 bits: in pairs, as without VNNI, or all of them.
#include <cmath>

#include "vernier/diagnose/hypotheses/products/products.h"
#include "vernier/diagnose/hypotheses/quantization/quantized_operands.h"

namespace vernier {

namespace {

// One factor: its integers less the zero point, and what an integer kernel has added to these.
struct Factor {
  Tensor values;
  double zero_point = 0;
  ElementType type = ElementType::kUndefined;
  std::vector<double> scales{1};
};

// The factors of a product, and of what one step of its sums is worth in the result, by column.
struct IntegerProduct {
  MatrixProduct product;
  Factor left, right;
  double result_scale = 1;

  double unit(int64_t group, int64_t column) const {
    const auto all = static_cast<int64_t>(right.scales.size());
    const double scale = right.scales[static_cast<size_t>(all == 1 ? 0 : group * product.columns + column)];
    return left.scales[0] * scale / result_scale;
  }
};

bool is_byte(ElementType type) {
  return type == ElementType::kUint8 || type == ElementType::kInt8;
}

bool all_alike(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [&](double value) { return value == values[0]; });
}

// A real factor in steps of its scale: of the tensor, or of each index of an axis.
std::optional<Factor> integers_of(const Tensor& real, const Dequantized& made) {
  const auto count = static_cast<int64_t>(made.scales.size());
  if (!is_byte(made.type) || !all_alike(made.zero_points)) return std::nullopt;
  int64_t inner = 1;
  if (count > 1) {
    if (made.axis >= real.dims().size() || real.dims()[made.axis] != count) return std::nullopt;
    for (size_t i = made.axis + 1; i < real.dims().size(); ++i) inner *= real.dims()[i];
  }
  auto values = real.to_doubles();
  for (size_t i = 0; i < values.size(); ++i)
    values[i] =
        std::nearbyint(values[i] / made.scales[static_cast<size_t>(static_cast<int64_t>(i) / inner % count)]);
  return Factor{Tensor::from_doubles(ElementType::kDouble, real.dims(), values), made.zero_points[0],
                made.type, made.scales};
}

// An operand of bytes. Zero points of each row or column are left alone.
std::optional<Factor> integers_of(const Member& member, const QuantizedOperand& operand) {
  const Tensor& codes = member.in(*operand.tensor);
  if (!is_byte(codes.type())) return std::nullopt;
  Factor factor{codes, 0, codes.type(), {1}};
  if (operand.zero_point && member.has(*operand.zero_point)) {
    const auto zero_points = member.in(*operand.zero_point).to_doubles();
    if (zero_points.empty() || !all_alike(zero_points)) return std::nullopt;
    factor.zero_point = zero_points[0];
  }
  if (operand.scale && member.has(*operand.scale)) factor.scales = member.in(*operand.scale).to_doubles();
  auto values = codes.to_doubles();
  for (double& value : values) value -= factor.zero_point;
  factor.values = Tensor::from_doubles(ElementType::kDouble, codes.dims(), values);
  return factor;
}

std::optional<Factor> factor_of(const Member& member, size_t input, const FlaggedNode& flagged,
                                const HypothesisContext& context) {
  if (is_float(member.in(input).type())) {
    const auto made = dequantized(member.node().inputs[input], flagged, context);
    return made ? integers_of(member.in(input), *made) : std::nullopt;
  }
  for (const QuantizedOperand& operand : quantized_operands(member.node())) {
    if (operand.tensor == input) return integers_of(member, operand);
  }
  return std::nullopt;
}

std::optional<IntegerProduct> integers_of(const Member& member, const FlaggedNode& flagged,
                                          const HypothesisContext& context) {
  const auto factors = factors_of(member.node());
  if (!factors || !member.has(factors->first) || !member.has(factors->second)) return std::nullopt;
  auto left = factor_of(member, factors->first, flagged, context),
       right = factor_of(member, factors->second, flagged, context);
  if (!left || !right || left->scales.size() != 1) return std::nullopt;
  auto product = product_of(member, left->values, right->values);
  if (!product) return std::nullopt;
  const auto scales = static_cast<int64_t>(right->scales.size());
  if (scales != 1 && scales != product->groups * product->columns) return std::nullopt;
  IntegerProduct made{std::move(*product), std::move(*left), std::move(*right), 1};
  for (const QuantizedOperand& operand : quantized_operands(member.node())) {
    if (!operand.tensor && operand.scale && member.has(*operand.scale))
      made.result_scale = member.in(*operand.scale).to_doubles().at(0);
  }
  return made;
}

// How the terms of a sum meet.
struct Way {
  std::string what;
  double left_shift,
      right_shift;     // added to the factors less their zero points: bytes as they are multiplied
  bool channels_last;  // taps before channels
  double (*limit)(double);
  bool in_pairs;
};

double saturated(double sum) {
  return std::clamp(sum, -32768.0, 32767.0);
}

double wrapped(double sum) {
  return sum - 65536 * std::floor((sum + 32768) / 65536);
}

// By how much a sum is off.
double loss(const MatrixProduct& product, const Way& way, int64_t group, int64_t row, int64_t column) {
  const int64_t channels = product.length / product.taps;
  const auto term = [&](int64_t place) {
    const int64_t k = way.channels_last ? place % channels * product.taps + place / channels : place;
    return (product.left_at(group, row, k) + way.left_shift) *
           (product.right_at(group, k, column) + way.right_shift);
  };
  double lost = 0, sum = 0;
  for (int64_t k = 0; k < product.length; ++k) {
    sum += term(k);
    if (!way.in_pairs || (k % 2 == 0 && k + 1 < product.length)) continue;
    lost += way.limit(sum) - sum;
    sum = 0;
  }
  return way.in_pairs ? lost : way.limit(sum) - sum;
}

Tensors with_losses(const Member& member, const IntegerProduct& integers, const Way& way) {
  const bool quantizes = !is_float(member.out().type()) && integers.result_scale != 1;
  auto values = quantizes ? unrounded_result(member) : member.out().to_doubles();
  const MatrixProduct& product = integers.product;
  for (int64_t group = 0; group < product.groups; ++group) {
    for (int64_t row = 0; row < product.rows; ++row) {
      for (int64_t column = 0; column < product.columns; ++column)
        values[product.result_at(group, row, column)] +=
            loss(product, way, group, row, column) * integers.unit(group, column);
    }
  }
  if (quantizes) return {as_result(member, std::move(values))};
  return {Tensor::from_doubles(member.out().type(), member.out().dims(), values)};
}

// Lists the ways to make an unsigned int8 of the left factor, and a signed one of the right factor.
std::vector<Way> ways(const IntegerProduct& integers) {
  const double left = integers.left.zero_point + (integers.left.type == ElementType::kInt8 ? 128 : 0);
  const double right = integers.right.zero_point - (integers.right.type == ElementType::kUint8 ? 128 : 0);
  const std::string pairs = "products of bytes are added in pairs in 16 bits, which saturate";
  std::vector<Way> found{
      {pairs, left, right, false, saturated, true},
      {"its sums are kept in 16 bits, which saturate", 0, 0, false, saturated, false},
      {"its sums are kept in 16 bits, which wrap around", 0, 0, false, wrapped, false},
      {"the sums of its bytes are kept in 16 bits, which saturate", left, right, false, saturated, false},
      {"the sums of its bytes are kept in 16 bits, which wrap around", left, right, false, wrapped, false},
  };
  if (integers.product.taps > 1 && integers.product.length > integers.product.taps)
    found.push_back({pairs + " (channels innermost)", left, right, true, saturated, true});
  // Signed bytes on both sides, as some instructions take them.
  if (integers.left.type == ElementType::kInt8 && integers.right.type == ElementType::kInt8)
    found.push_back({pairs + " (both signed)", integers.left.zero_point, right, false, saturated, true});
  return found;
}

}  // namespace

void propose_saturating_sums(const Member& member, const FlaggedNode& flagged,
                             const HypothesisContext& context, std::vector<Proposal>& proposals) {
  const auto found = integers_of(member, flagged, context);
  if (!found) return;
  const auto integers = std::make_shared<const IntegerProduct>(*found);
  for (const Way& way : ways(*integers))
    proposals.push_back({FailureClass(29), way.what,
                         [&member, integers, way] { return with_losses(member, *integers, way); }});
}

}  // namespace vernier

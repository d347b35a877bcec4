// Functions of the elements at one place: evaluated at both ends of the range in which each operand may lie.
// So steps, kinks and ties are met where they are within reach, and nowhere else.
#include <algorithm>
#include <cmath>
#include <optional>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/quant/quantization.h"

namespace vernier {

namespace {

// The operand with each element at an end of its range; flags are turned over.
Tensor at_end(const ElementErrors& operand, double side) {
  Tensor result = operand.value;
  if (result.type() == ElementType::kBool) {
    auto flags = result.mutable_values<bool>();
    for (size_t i = 0; i < flags.size(); ++i) flags[i] = flags[i] != (operand.error[i] > 0);
    return result;
  }
  Tensor moved = stored_as_doubles(result);
  const auto values = moved.mutable_values<double>();
  for_each_element(values.size(), [&](size_t i) {
    if (operand.error[i] > 0) values[i] += side * kLargestDeviation * operand.error[i];
  });
  return is_float(result.type()) ? moved : Tensor::from_doubles(result.type(), result.dims(), values);
}

// The operand with zero for each element whose range holds it; nothing if none does.
std::optional<Tensor> at_zero(const ElementErrors& operand) {
  Tensor moved = stored_as_doubles(operand.value);
  const auto values = moved.mutable_values<double>();
  bool any = false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(std::abs(values[i]) <= kLargestDeviation * operand.error[i])) continue;
    values[i] = 0;
    any = true;
  }
  return any ? std::optional(std::move(moved)) : std::nullopt;
}

// Whether the node divides by the operand, so that it has a pole inside of a range that holds zero.
bool divides_by(const Node& node, size_t operand) {
  return ops::role_of(node, operand) == ops::Role::kDivisor;
}

// How far results are moved at most, as an expected error.
void add_moves(std::vector<double>& errors, const Tensor& result, const Tensor& moved) {
  const Doubles from(result), to(moved);
  for_each_element(errors.size(), [&](size_t i) {
    const bool same = from[i] == to[i] || (std::isnan(from[i]) && std::isnan(to[i]));
    const double move = same ? 0 : std::abs(to[i] - from[i]) / kLargestDeviation;
    errors[i] = std::max(errors[i], std::isnan(move) ? HUGE_VAL : move);
  });
}

// Adds the rounding of the function itself.
void add_rounding(std::vector<double>& errors, const AnalysedNode& node) {
  constexpr double kFewUlps = 4;
  const NumericsContract& contract = node.contract;
  const Doubles results(*node.out[0]);
  const ops::OpDef& def = ops::OpRegistry::instance().require(node.node);
  const bool exact_stays =
      (def.traits & (ops::kRoundsNothing | (node.keeps_exact ? ops::kRoundsOnce : 0))) != 0;
  const RoundingError rounding(contract.computed);
  const double of_function = (def.traits & ops::kFunction) == 0
                                 ? 0
                                 : unit_roundoff(contract.computed) * (contract.approximate ? kFewUlps : 1);
  std::optional<const Doubles> operands;
  if (def.cancels_until > 0 && node.has(0)) operands.emplace(node.in[0]->value);
  const size_t known = operands ? operands->size() : 0;
  for_each_element(errors.size(), [&](size_t i) {
    if (exact_stays && errors[i] == 0 && rounding.is_exact(results[i])) return;
    const double operand = i < known ? std::min(std::abs((*operands)[i]), def.cancels_until) : 0;
    const double cancelled = known == 0            ? 0
                             : contract.by_formula ? std::max(operand, 1.0)
                                                   : std::min(operand, 1.0);
    const double own = of_function * (std::abs(results[i]) + cancelled);
    if (!std::isfinite(own)) return;
    errors[i] = root_of_squares(root_of_squares(errors[i], own), rounding.of(results[i]));
  });
}

std::vector<double> errors_of_all(const AnalysedNode& node) {
  std::vector<double> errors(static_cast<size_t>(node.out[0]->size()), 0);
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.has(i) || node.in[i]->is_exact()) continue;
    std::vector<double> moved(errors.size(), 0);
    const auto move_to = [&](const Tensor& operand) {
      std::vector<const Tensor*> operands(node.in.size(), nullptr);
      operands[i] = &operand;
      add_moves(moved, *node.out[0], node.evaluate(operands).at(0));
    };
    for (const double side : {-1.0, 1.0}) move_to(at_end(*node.in[i], side));
    if (divides_by(node.node, i) && is_float(node.in[i]->value.type())) {
      if (const auto zero = at_zero(*node.in[i])) move_to(*zero);
    }
    add_independent(errors, moved);
  }
  if (is_float(node.node.output(0)->type.tensor.element)) add_rounding(errors, node);
  return errors;
}

// Elements that are analysed together: what is made of them on the way stays in the caches.
constexpr int64_t kSlice = 1 << 13;

// Whether each operand has one element, or as many as the result.
bool can_be_sliced(const AnalysedNode& node) {
  const int64_t size = node.out[0]->size();
  return size > kSlice && !node.node.attributes.contains("axis") &&
         std::all_of(node.in.begin(), node.in.end(), [&](const ElementErrors* each) {
           return each == nullptr || each->value.size() == 1 || each->value.size() == size;
         });
}

Tensor slice_of(const Tensor& tensor, int64_t begin, int64_t count) {
  if (tensor.size() == 1) return tensor;
  const size_t first = static_cast<size_t>(begin) * element_size(tensor.type());
  return Tensor::borrow(tensor.type(), {count}, tensor.bytes().data() + first,
                        std::make_shared<const Tensor>(tensor));
}

ElementErrors slice_of(const ElementErrors& operand, int64_t begin, int64_t count) {
  if (operand.value.size() == 1) return operand;
  const auto first = operand.error.begin() + (operand.is_exact() ? 0 : begin);
  return {slice_of(operand.value, begin, count), {first, operand.is_exact() ? first : first + count}};
}

std::vector<double> errors_of_slice(const AnalysedNode& node, int64_t begin, int64_t count) {
  std::vector<ElementErrors> operands(node.in.size());
  const Tensor result = slice_of(*node.out[0], begin, count);
  AnalysedNode slice{node.node, {}, {&result}, node.contract, node.keeps_exact};
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (node.has(i)) operands[i] = slice_of(*node.in[i], begin, count);
    slice.in.push_back(node.has(i) ? &operands[i] : nullptr);
  }
  return errors_of_all(slice);
}

}  // namespace

std::vector<double> pointwise_errors(const AnalysedNode& node) {
  if (!can_be_sliced(node)) return errors_of_all(node);
  std::vector<double> errors(static_cast<size_t>(node.out[0]->size()));
  parallel_for(node.out[0]->size(), kSlice, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; at += kSlice) {
      const auto slice = errors_of_slice(node, at, std::min(kSlice, end - at));
      std::copy(slice.begin(), slice.end(), errors.begin() + at);
    }
  });
  return errors;
}

std::vector<double> quantized_errors(const AnalysedNode& node) {
  const auto quantized = node.out[0]->to_doubles();
  std::vector<double> errors(quantized.size(), 0);
  const ElementType type = node.node.output(0)->type.tensor.element;
  if (!is_integer(type)) return std::vector<double>(quantized.size(), HUGE_VAL);
  const auto range = ops::value_range(type);
  // Unrounded codes with the operands at both ends; the arithmetic on the way to a code is in floats.
  for (const double side : {-1.0, 1.0}) {
    std::vector<Tensor> moved(node.in.size());
    std::vector<const Tensor*> operands;
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (node.has(i) && !node.in[i]->is_exact()) moved[i] = at_end(*node.in[i], side);
      operands.push_back(moved[i].is_defined() ? &moved[i] : node.has(i) ? &node.in[i]->value : nullptr);
    }
    const auto codes = unrounded_codes(node.node, operands).to_doubles();
    for_each_element(errors.size(), [&](size_t i) {
      constexpr double kRoundings = 4;
      const double reach = kRoundings * unit_roundoff(ElementType::kFloat) * std::abs(codes[i]);
      const double code = ops::saturate(std::nearbyint(codes[i] + side * reach), range);
      errors[i] = std::max(errors[i], std::abs(code - quantized[i]) / kLargestDeviation);
    });
  }
  return errors;
}

}  // namespace vernier

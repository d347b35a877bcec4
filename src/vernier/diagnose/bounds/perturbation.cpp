#include "vernier/diagnose/bounds/perturbation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "vernier/base/hash.h"
#include "vernier/diagnose/experiments/integer_kernels.h"
#include "vernier/diagnose/hypotheses/precision/partial_sums.h"
#include "vernier/error_analysis/exact_results.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/ops/group.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/quant/quantization.h"
#include "vernier/tensor/drawn_blocks.h"

namespace vernier {

namespace {

// How far elements may move: beyond the `largest` of them by a rounding, but where that is near the end of
// the type (lowest() hides scores as a mask) not at all, for there is Inf.
double limit_of(const Tensor& tensor, double largest) {
  const std::array<double, 1> twice{2 * largest};
  return std::isfinite(Tensor::from_doubles(tensor.type(), {1}, twice).to_doubles().front()) ? HUGE_VAL
                                                                                             : largest;
}

// Nor does rounding turn over signs: what has no negative elements, as squares and sums of these, has none
// afterwards.
// Products of factors that are cut off lose a part in every element of every node, and that adds up from node
// to node, where independent errors would cancel: with `shrinks` all elements move toward zero as well.
Tensor moved(const Tensor& tensor, const ElementErrors& expected, bool shrinks, uint64_t seed) {
  auto values = tensor.to_doubles();
  double least = 0, largest = 0;  // finite ones
  for (const double value : values) {
    least = std::min(least, value);
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  const bool has_signs = least < 0;
  const double limit = limit_of(tensor, largest);
  draw_blocks(std::span(values), seed, [&](std::span<double> part, SplitMix64& random) {
    std::normal_distribution<double> normal;
    const auto first = static_cast<size_t>(part.data() - values.data());
    for (size_t i = 0; i < part.size(); ++i) {
      const double error = expected.at(first + i);
      if (!std::isfinite(error) || !std::isfinite(part[i])) continue;
      const double toward_zero = shrinks ? -std::copysign(error, part[i]) : 0;
      const double drawn = std::clamp(part[i] + toward_zero + normal(random) * error, -limit, limit);
      part[i] = has_signs ? drawn : std::abs(drawn);
    }
  });
  return Tensor::from_doubles(tensor.type(), tensor.dims(), values);
}

// Whether the last node of a group makes the value by a step function, so that it is a whole number.
bool ends_in_a_step(const Node& group, size_t output) {
  const Node* last = ops::body(group).outputs[output]->producer();
  return last != nullptr &&
         (ops::is_group(*last) ? ends_in_a_step(*last, 0) : ops::has_trait(*last, ops::kSteps));
}

// Whole numbers, codes as a rule, that a group makes of numbers which nobody sees, some a step off: those
// beside a tie.
Tensor with_steps(const Tensor& codes, const ElementErrors& expected, uint64_t seed) {
  // At most this part of the numbers whose tie is within reach of errors comes to lie beyond it.
  constexpr double kCross = 1 / kLargestDeviation;
  const ops::ValueRange range =
      is_float(codes.type()) ? ops::ValueRange{-HUGE_VAL, HUGE_VAL} : ops::value_range(codes.type());
  auto values = codes.to_doubles();
  draw_blocks(std::span(values), seed, [&](std::span<double> some, SplitMix64& random) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    const auto first = static_cast<size_t>(some.data() - values.data());
    for (size_t i = 0; i < some.size(); ++i) {
      const double drawn = uniform(random);
      const bool inside = some[i] > range.low && some[i] < range.high;
      if (inside && expected.at(first + i) > 0 && std::abs(drawn) < kCross) some[i] += drawn < 0 ? -1 : 1;
    }
  });
  return Tensor::from_doubles(codes.type(), codes.dims(), values);
}

// Sizes and places are whole numbers that are no codes of something.
bool is_count(ElementType type) {
  return type == ElementType::kInt64 || type == ElementType::kInt32;
}

// Whether a value in the body of a group is made of counts and of sizes alone, even if it is so in floats:
// then it is what it is, whatever moves.
bool is_made_of_counts(const Value& value) {
  const Node* node = value.producer();
  if (value.is_constant() || (node != nullptr && ops::has_trait(*node, ops::kReadsSizes))) return true;
  if (node == nullptr) return value.type.is_tensor() && is_count(value.type.tensor.element);
  return node->regions.empty() &&
         std::all_of(node->inputs.begin(), node->inputs.end(),
                     [](const Value* input) { return input == nullptr || is_made_of_counts(*input); });
}

}  // namespace

bool is_narrow_float(const Tensor& tensor) {
  return is_float(tensor.type()) && element_size(tensor.type()) < sizeof(float);
}

InterpreterOptions Perturbation::applied(
    const InterpreterOptions& options,
    std::function<void(const Node&, std::span<const Datum> results)> after) {
  InterpreterOptions moved = options;
  moved.revises_regions = true;
  moved.revise = [this, after = std::move(after)](const Node& node, std::span<const Datum* const> operands,
                                                  std::vector<Datum>& results) {
    add(node, operands, results);
    if (after) after(node, results);
  };
  moved.constants = [this, before = options.constants](const Value& value) {
    const Tensor content = before ? before(value) : *value.constant;
    return is_narrow_float(*value.constant) ? constant(value, content) : content;
  };
  return moved;
}

std::optional<std::vector<ElementErrors>> KnownErrors::of(const Node& node, uint64_t run,
                                                          const std::vector<Datum>& results) {
  const auto found = errors_.find({&node, run});
  if (found == errors_.end() || found->second.size() != results.size()) return std::nullopt;
  std::vector<ElementErrors> errors(results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& each = found->second[i];
    if (each.empty()) continue;
    if (!results[i].is_tensor() || static_cast<size_t>(results[i].tensor.size()) != each.size())
      return std::nullopt;
    errors[i].error.assign(each.begin(), each.end());
  }
  ++used_;
  return errors;
}

void KnownErrors::keep(const Node& node, uint64_t run, const std::vector<ElementErrors>& errors) {
  size_t bytes = 0;
  for (const ElementErrors& each : errors) {
    if (each.value.is_defined() && !is_float(each.value.type())) return;
    bytes += each.error.size() * sizeof(float);
  }
  if (bytes > most_bytes_ - bytes_) return;
  bytes_ += bytes;
  Errors kept;
  for (const ElementErrors& each : errors) kept.emplace_back(each.error.begin(), each.error.end());
  errors_.emplace(std::pair(&node, run), std::move(kept));
}

void Perturbation::add(const Node& node, std::span<const Datum* const> operands,
                       std::vector<Datum>& results) {
  const uint64_t run = runs_[&node]++;
  if (const auto known = known_.of(node, run, results)) return move(node, *known, results);
  std::vector<Tensor> inputs;
  for (const Datum* operand : operands) {
    if (operand != nullptr && !operand->is_tensor()) return;
    inputs.push_back(operand == nullptr ? Tensor() : operand->tensor);
  }
  std::vector<ElementErrors> expected;
  try {
    const NumericsContract contract = tested_.contract_of(shown_, node);
    const SumSteps steps =
        may_sum_integers(shown_.contract_of(node)) ? integer_sum_steps(node, inputs) : nullptr;
    expected = ErrorModel(node, inputs, {}, steps).outputs(contract);
    if (expected.size() == 1) keep_exact_results(node, inputs, contract, expected.front());
  } catch (const Error&) {
    return;  // nothing is known of it; of control flow, what is inside has been moved
  }
  const double growth = growth_of(node, inputs, expected);
  for (ElementErrors& errors : expected) {
    for (double& error : errors.error) error *= growth;
    if (std::all_of(errors.error.begin(), errors.error.end(), [](double error) { return error == 0; }))
      errors.error.clear();
  }
  known_.keep(node, run, expected);
  move(node, expected, results);
  if (!ops::is_group(node)) return;
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& codes = results[i].tensor;
    const Value* output = node.outputs[i];
    if (output == nullptr || !results[i].is_tensor() || !is_integer(codes.type())) continue;
    if (!is_count(codes.type()) || !is_made_of_counts(*ops::body(node).outputs[i]))
      codes = with_steps(codes, expected[i], seed_of(*output));
  }
}

void Perturbation::move(const Node& node, const std::vector<ElementErrors>& expected,
                        std::vector<Datum>& results) {
  const bool shrinks = operand_bias(tested_.contract_of(shown_, node)) > 0;
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& tensor = results[i].tensor;
    const Value* output = node.outputs[i];
    if (output == nullptr || !results[i].is_tensor() || !is_float(tensor.type())) continue;
    const uint64_t seed = seed_of(*output);
    if (expected[i].is_exact()) continue;
    elements_ += tensor.size();
    tensor = ops::is_group(node) && ends_in_a_step(node, i) ? with_steps(tensor, expected[i], seed)
                                                            : moved(tensor, expected[i], shrinks, seed);
    note(*output, tensor.type());
  }
}

uint64_t Perturbation::seed_of(const Value& output) {
  return hash_combine(hash_text(output.name, seed_), draws_[&output]++);
}

double Perturbation::growth_of(const Node& node, const std::vector<Tensor>& inputs,
                               const std::vector<ElementErrors>& expected) {
  const auto [known, fresh] = known_.growths.try_emplace(&node, 1);
  if (fresh) {
    FlaggedNode sound;
    sound.node = &node;
    sound.inputs = inputs;
    sound.expected = expected;
    known->second = partial_sum_growth(sound);
  }
  return known->second;
}

Tensor Perturbation::constant(const Value& value, const Tensor& content) {
  const ElementType type = value.constant->type();
  const RoundingError rounding(type);
  ElementErrors errors{content, content.to_doubles()};
  // Whole numbers (a factor of two, the number of classes) are what they are meant to be.
  for (double& error : errors.error) error = error == std::trunc(error) ? 0 : rounding.of(error);
  if (std::all_of(errors.error.begin(), errors.error.end(), [](double error) { return error == 0; }))
    return content;
  note(value, type);
  return moved(content, errors, false, hash_text(value.name, seed_));
}

// A value that is made in double is stored in the type that the graph says, where it says one.
void Perturbation::note(const Value& value, ElementType made) {
  const ElementType said = value.type.is_tensor() ? value.type.tensor.element : ElementType::kUndefined;
  unit_roundoff_ = std::max(unit_roundoff_, vernier::unit_roundoff(is_float(said) ? said : made));
}

}  // namespace vernier

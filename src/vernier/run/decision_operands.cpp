#include "vernier/run/decision_operands.h"

#include <cmath>

namespace vernier {

namespace {

double difference(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double error = std::abs(a - b);
  return std::isnan(error) ? HUGE_VAL : error;
}

}  // namespace

const Tensor* tensor_in(const Trace& trace, const std::string& name) {
  const TraceEntry* entry = trace.find(name);
  const bool usable = entry != nullptr && entry->datum.is_tensor() && entry->datum.tensor.is_defined() &&
                      entry->datum.tensor.type() != ElementType::kString;
  return usable ? &entry->datum.tensor : nullptr;
}

std::optional<DecisionInput> DecisionOperands::read(const Value& value) const {
  if (const Tensor* given = given_content(value)) {
    return DecisionInput{given->dims(), given->to_doubles(),
                         std::vector<double>(static_cast<size_t>(given->size()), 0), true};
  }
  const Tensor* expected = tensor_in(reference_, value.name);
  if (expected == nullptr) return std::nullopt;
  DecisionInput operand{expected->dims(), expected->to_doubles(), {}, true};
  const Tensor* got = tensor_in(actual_, value.name);
  if (got == nullptr) return with_noise(value, std::move(operand));
  if (got->dims() != expected->dims()) return std::nullopt;
  const auto values = got->to_doubles();
  for (size_t i = 0; i < values.size(); ++i)
    operand.errors.push_back(difference(operand.values[i], values[i]));
  if (!is_faultless(value, *expected, *got, operand)) return std::nullopt;
  operand.is_shown = got->type() == expected->type();
  return operand;
}

const Tensor* DecisionOperands::given_content(const Value& value) const {
  const auto found = inputs_.find(value.name);
  if (found != inputs_.end()) return found->second.is_tensor() ? &found->second.tensor : nullptr;
  return value.is_constant() ? &*value.constant : nullptr;
}

const NoiseFloor* DecisionOperands::noise(const Value& value) const {
  const auto found = options_.noise_floor.find(value.name);
  return found == options_.noise_floor.end() ? nullptr : &found->second;
}

std::optional<DecisionInput> DecisionOperands::with_noise(const Value& value, DecisionInput operand) const {
  const NoiseFloor* floor = noise(value);
  if (floor == nullptr) return std::nullopt;
  operand.errors.assign(operand.values.size(), floor->max_abs);
  operand.is_shown = false;
  return operand;
}

// An engine may hold what is inside in a narrower type than the model says.
bool DecisionOperands::is_faultless(const Value& value, const Tensor& expected, const Tensor& got,
                                    const DecisionInput& operand) const {
  const bool narrower = is_float(expected.type()) && is_float(got.type()) &&
                        element_bits(got.type()) < element_bits(expected.type());
  const ElementType declared = value.type.is_tensor() && value.type.tensor.element != ElementType::kUndefined
                                   ? value.type.tensor.element
                                   : got.type();
  const ElementType type = narrower ? got.type() : declared;
  const Tolerance usual = default_tolerance(type), given = options_.tolerances.of(value.name, type);
  const NoiseFloor* floor = noise(value);
  const double largest = floor == nullptr ? 0 : options_.noise_factor * floor->max_abs;
  for (size_t i = 0; i < operand.errors.size(); ++i) {
    const double error = operand.errors[i], reference = operand.values[i];
    if (error == 0 || error <= largest) continue;
    if (!usual.accepts(error, reference) && !given.accepts(error, reference)) return false;
  }
  return true;
}

}  // namespace vernier

#include "vernier/diagnose/hypotheses/precision/screening.h"

#include <algorithm>
#include <cmath>

namespace vernier {

Screening::Screening(const PartialSums& sums, const Member& member, const Tensor& made)
    : sums_(sums), member_(member), right_(member.out().to_doubles()), made_(made.to_doubles()) {
  for (const double each : right_) most_ = std::isfinite(each) ? std::max(most_, std::abs(each)) : most_;
  most_ *= 10;
  // Errors may be few, or in a part alone, of which another part says nothing.
  double worst = 0;
  for (size_t i = 0; i < right_.size(); ++i) worst = std::max(worst, between(made_[i], right_[i]));
  constexpr double kCounts = 1e-3;
  std::vector<int64_t> wrong;
  for (size_t i = 0; i < right_.size(); ++i) {
    if (between(made_[i], right_[i]) >= kCounts * worst) wrong.push_back(static_cast<int64_t>(i));
  }
  constexpr size_t kSums = 96;
  const size_t step = std::max<size_t>(1, wrong.size() / kSums);
  for (size_t i = 0; i < wrong.size(); i += step) places_.push_back(wrong[i]);
}

double Screening::between(double a, double b) const {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = std::abs(a - b);
  return difference < most_ ? difference : most_;  // NaN is most
}

double Screening::residual(const std::function<double(int64_t element)>& simulated) const {
  double left = 0, all = 0;
  for (const int64_t place : places_) {
    const auto i = static_cast<size_t>(place);
    const double error = between(made_[i], right_[i]), rest = between(made_[i], simulated(place));
    all += error * error;
    left += rest * rest;
  }
  return all > 0 ? std::sqrt(left / all) : 1;
}

double Screening::residual(const Accumulator& accumulator) const {
  return residual([&](int64_t element) { return sums_.result(element, accumulator); });
}

const std::vector<double>& Screening::rounded(size_t operand, const NarrowFormat& format) const {
  auto [found, is_new] = rounded_.try_emplace({operand, format.text()});
  if (is_new) found->second = vernier::rounded(member_.in(operand), format).to_doubles();
  return found->second;
}

double Screening::residual(const PrecisionLoss& loss) const {
  Operands operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (loss.holds(i) && member_.has(i) && is_real(member_.in(i))) operands[i] = rounded(i, loss.format);
  }
  return residual([&](int64_t element) {
    const double exact = sums_.exact_result(element, operands);
    return loss.results ? loss.format.round(exact) : exact;
  });
}

double Screening::residual(const Operands& operands) const {
  return residual([&](int64_t element) { return sums_.exact_result(element, operands); });
}

}  // namespace vernier

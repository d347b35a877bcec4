#include "vernier/diagnose/hypotheses/precision/screening.h"

#include <algorithm>
#include <cmath>

namespace vernier {

Screening::Screening(const PartialSums& sums, const Member& member, const Tensor& made)
    : sums_(sums), member_(member), right_(member.out().to_doubles()), made_(made.to_doubles()) {
  constexpr int64_t kSums = 96;
  const int64_t step = std::max<int64_t>(1, sums.count() / kSums);
  for (int64_t i = 0; i < sums.count(); i += step) places_.push_back(i);
  for (const double each : right_) most_ = std::isfinite(each) ? std::max(most_, std::abs(each)) : most_;
  most_ *= 10;
  // Errors may be few: the largest one is among them.
  int64_t worst = 0;
  for (size_t i = 0; i < right_.size(); ++i) {
    const auto at = static_cast<size_t>(worst);
    if (between(made_[i], right_[i]) > between(made_[at], right_[at])) worst = static_cast<int64_t>(i);
  }
  places_.push_back(worst);
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

double Screening::residual(const PrecisionLoss& loss) const {
  const auto format_of = [&](size_t input) {
    return loss.operands || (loss.constants && member_.is_constant(input)) ? &loss.format : nullptr;
  };
  const auto third = sums_.third(format_of(2));
  return residual([&](int64_t element) {
    const double exact = sums_.exact_result(element, format_of(0), format_of(1), third);
    return loss.results ? loss.format.round(exact) : exact;
  });
}

}  // namespace vernier

#include "vernier/compare/sums.h"

#include <cmath>

#include "vernier/base/threads.h"

namespace vernier {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The smallest atol, resp. rtol, that accepts the error in floating-point arithmetic and not only on paper.
double smallest_atol(double error, double reference, double rtol) {
  const double relative = rtol * std::abs(reference);
  if (error <= relative) return 0;
  double atol = error - relative;
  while (!(error <= atol + relative)) atol = std::nextafter(atol, kInfinity);
  return atol;
}

double smallest_rtol(double error, double reference, double atol) {
  if (error <= atol) return 0;
  const double magnitude = std::abs(reference);
  if (magnitude == 0) return kInfinity;
  double rtol = (error - atol) / magnitude;
  while (rtol < kInfinity && !(error <= atol + rtol * magnitude)) rtol = std::nextafter(rtol, kInfinity);
  return rtol;
}

// All elements, by equality.
Sums sum_up_strings(const Tensor& reference, const Tensor& actual) {
  const auto expected = reference.values<std::string>(), got = actual.values<std::string>();
  Sums sums;
  sums.elements = sums.finite = reference.size();
  for (size_t i = 0; i < expected.size(); ++i) {
    // For the evidence a text is a number: 0 for none, else its hash; two texts that collide cost trust,
    // never faults.
    const double number =
        expected[i].empty() ? 0 : 1 + static_cast<double>(std::hash<std::string>()(expected[i]));
    sums.reference_min = std::min(sums.reference_min, number);
    sums.reference_max = std::max(sums.reference_max, number);
    sums.reference_nonzero |= number != 0;
    sums.actual_nonzero |= !got[i].empty();
    if (expected[i] == got[i]) continue;
    ++sums.mismatching;
    sums.offer_worst(1, static_cast<int64_t>(i));
  }
  return sums;
}

}  // namespace

void Sums::offer_worst(double excess, int64_t index) {
  if (worst_index >= 0 && !(excess > worst_excess)) return;
  worst_excess = excess;
  worst_index = index;
}

void Sums::add_special(double reference, double actual, double error, int64_t index) {
  const bool nan = std::isnan(reference) || std::isnan(actual);
  if (std::isnan(reference) && std::isnan(actual)) {
    ++nan_in_both;
  } else if (!nan && error == 0) {
    ++inf_in_both;
  } else {
    ++(nan ? nan_mismatches : inf_mismatches);
    ++mismatching;
    ++histogram.not_finite;
    offer_worst(kInfinity, index);
  }
}

void Sums::add_finite_error(double error, double reference, const Tolerance& tolerance,
                            const std::optional<FloatFormat>& format, int64_t index) {
  error_sum += error;
  error_squares += error * error;
  max_error = std::max(max_error, error);
  histogram.add(error);
  if (format) max_ulp = std::max(max_ulp, format->ulps(error, reference));
  if (!tolerance.accepts(error, reference)) ++mismatching;
  required_atol = std::max(required_atol, smallest_atol(error, reference, tolerance.rtol));
  required_rtol = std::max(required_rtol, smallest_rtol(error, reference, tolerance.atol));
  offer_worst(error - tolerance.allowed(reference), index);
}

void Sums::add(const ElementBlock& block, const Tolerance& tolerance,
               const std::optional<FloatFormat>& format) {
  elements += block.count;
  for (size_t i = 0; i < static_cast<size_t>(block.count); ++i) {
    const double reference = block.reference[i], actual = block.actual[i], error = block.error[i];
    reference_min = reference < reference_min ? reference : reference_min;  // false for NaN
    reference_max = reference > reference_max ? reference : reference_max;
    reference_nonzero |= reference != 0;
    actual_nonzero |= actual != 0;
    if (!std::isfinite(reference) || !std::isfinite(actual)) {
      add_special(reference, actual, error, block.first + static_cast<int64_t>(i));
      continue;
    }
    ++finite;
    reference_squares += reference * reference;
    actual_squares += actual * actual;
    products += block.product[i];
    if (error == 0)
      ++histogram.exact;
    else
      add_finite_error(error, reference, tolerance, format, block.first + static_cast<int64_t>(i));
  }
}

void Sums::merge(const Sums& other) {
  elements += other.elements;
  mismatching += other.mismatching;
  nan_mismatches += other.nan_mismatches;
  inf_mismatches += other.inf_mismatches;
  nan_in_both += other.nan_in_both;
  inf_in_both += other.inf_in_both;
  finite += other.finite;
  error_sum += other.error_sum;
  error_squares += other.error_squares;
  reference_squares += other.reference_squares;
  actual_squares += other.actual_squares;
  products += other.products;
  max_error = std::max(max_error, other.max_error);
  max_ulp = std::max(max_ulp, other.max_ulp);
  histogram.merge(other.histogram);
  required_atol = std::max(required_atol, other.required_atol);
  required_rtol = std::max(required_rtol, other.required_rtol);
  reference_min = std::min(reference_min, other.reference_min);
  reference_max = std::max(reference_max, other.reference_max);
  reference_nonzero |= other.reference_nonzero;
  actual_nonzero |= other.actual_nonzero;
  if (other.worst_index >= 0) offer_worst(other.worst_excess, other.worst_index);
}

Sums sum_up(const Tensor& reference, const Tensor& actual, const Tolerance& tolerance,
            const std::optional<FloatFormat>& format) {
  if (reference.type() == ElementType::kString) return sum_up_strings(reference, actual);
  return sum_blocks<Sums>(reference, actual,
                          [&](Sums& sums, const ElementBlock& block) { sums.add(block, tolerance, format); });
}

}  // namespace vernier

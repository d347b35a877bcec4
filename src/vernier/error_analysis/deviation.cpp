#include "vernier/error_analysis/deviation.h"

#include <cmath>

#include "vernier/base/times_bound.h"
#include "vernier/error_analysis/rounding.h"

namespace vernier {

namespace {

// Differences of finite numbers in units of the bound; of others, all or nothing. A result that only rounding
// can have made infinite is one that overflows.
double in_bounds(double expected, double actual, double bound) {
  if (expected == actual || (std::isnan(expected) && std::isnan(actual))) return 0;
  if (!std::isfinite(expected) || !std::isfinite(actual)) return HUGE_VAL;
  if (std::isinf(bound)) return 0;
  return bound > 0 ? std::abs(actual - expected) / bound : HUGE_VAL;
}

}  // namespace

std::string Deviation::text() const {
  if (element < 0) return "no element differs";
  return fmt::format("element {} is {:.9g}, expected {:.9g}: {}", element, actual, expected,
                     times_bound(worst, bound, "its"));
}

Deviation deviation(const ElementErrors& expected, const Tensor& actual) {
  if (actual.size() != expected.value.size())
    throw internal_error("{} elements are compared with {}", actual.size(), expected.value.size());
  const auto reference = expected.value.to_doubles(), yielded = actual.to_doubles();
  // A declared type of less range than double overflows where the unrounded value does not.
  const auto as_declared = Tensor::from_doubles(actual.type(), actual.dims(), reference).to_doubles();
  Deviation worst;
  for (size_t i = 0; i < yielded.size(); ++i) {
    const double value = std::isfinite(as_declared[i]) ? reference[i] : as_declared[i];
    const double bound = kLargestDeviation * expected.at(i);
    const double found = in_bounds(value, yielded[i], bound);
    if (found <= worst.worst) continue;
    worst = {found, static_cast<int64_t>(i), value, yielded[i], bound};
  }
  return worst;
}

}  // namespace vernier

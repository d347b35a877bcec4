#include "vernier/compare/evidence.h"

#include <cmath>

namespace vernier {

namespace {

constexpr int64_t kFewElements = 16;

// Values that agree only within the tolerance need a tolerance finer than what the reference has to tell.
std::string too_wide(const Sums& sums, const Tolerance& tolerance) {
  const double low = sums.reference_min, high = sums.reference_max;
  const double largest = std::max(std::abs(low), std::abs(high));
  if (tolerance.accepts(largest, largest)) return "the tolerance is so wide that all zeros would pass";
  if (sums.elements > 1 && high - tolerance.allowed(high) <= low + tolerance.allowed(low)) {
    return "the tolerance is so wide that one value for all elements would pass";
  }
  return "";
}

}  // namespace

std::string lack_of_evidence(const Sums& sums, const Tolerance& tolerance, bool may_be_constant) {
  if (sums.nan_in_both == sums.elements) return "every element is NaN on both sides";
  if (sums.nan_in_both > 0) {
    return fmt::format("{} of {} elements are NaN on both sides: nothing was compared there",
                       sums.nan_in_both, sums.elements);
  }
  if (sums.finite == 0) return "no element is finite";
  if (may_be_constant) return "";
  if (!sums.reference_nonzero) return "the reference is all zero: an engine that writes nothing would agree";
  // A few elements that agree on a number other than zero do prove something.
  if (sums.elements > kFewElements && sums.reference_min == sums.reference_max) {
    return "every element of the reference has the same value";
  }
  return sums.max_error == 0 ? "" : too_wide(sums, tolerance);
}

}  // namespace vernier

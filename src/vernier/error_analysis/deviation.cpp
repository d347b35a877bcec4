#include "vernier/error_analysis/deviation.h"

#include <algorithm>
#include <cmath>

#include "vernier/base/threads.h"
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

namespace {

// The worst of some elements, the first of those that are equally bad.
Deviation worst_of(const ElementErrors& expected, const Tensor& actual, int64_t begin, int64_t count) {
  std::vector<double> reference(static_cast<size_t>(count)), yielded(reference.size());
  expected.value.read_doubles(begin, reference);
  actual.read_doubles(begin, yielded);
  // A declared type of less range than double overflows where the unrounded value does not.
  const auto as_declared = Tensor::from_doubles(actual.type(), {count}, reference).to_doubles();
  Deviation worst;
  for (size_t i = 0; i < yielded.size(); ++i) {
    const double value = std::isfinite(as_declared[i]) ? reference[i] : as_declared[i];
    const size_t element = static_cast<size_t>(begin) + i;
    const double bound = kLargestDeviation * expected.at(element);
    const double found = in_bounds(value, yielded[i], bound);
    if (found <= worst.worst) continue;
    worst = {found, static_cast<int64_t>(element), value, yielded[i], bound};
  }
  return worst;
}

}  // namespace

Deviation deviation(const ElementErrors& expected, const Tensor& actual) {
  const int64_t size = actual.size();
  if (size != expected.value.size())
    throw internal_error("{} elements are compared with {}", size, expected.value.size());
  constexpr int64_t kPart = 1 << 13;
  std::vector<Deviation> parts(static_cast<size_t>((size + kPart - 1) / kPart));
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part)
      parts[static_cast<size_t>(part)] =
          worst_of(expected, actual, part * kPart, std::min(kPart, size - part * kPart));
  });
  Deviation worst;
  for (const Deviation& part : parts) {
    if (part.worst > worst.worst) worst = part;
  }
  return worst;
}

}  // namespace vernier

#include "vernier/compare/histogram.h"

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

// Lower ends of all decades but the first.
const std::array<double, ErrorHistogram::kDecades - 1> kBounds = [] {
  std::array<double, ErrorHistogram::kDecades - 1> bounds{};
  for (size_t i = 0; i < bounds.size(); ++i) {
    bounds[i] = std::pow(10.0, ErrorHistogram::kFirstDecade + 1 + static_cast<int>(i));
  }
  return bounds;
}();

}  // namespace

void ErrorHistogram::add(double error) {
  const auto decade = std::upper_bound(kBounds.begin(), kBounds.end(), error) - kBounds.begin();
  ++decades[static_cast<size_t>(decade)];
}

void ErrorHistogram::merge(const ErrorHistogram& other) {
  exact += other.exact;
  not_finite += other.not_finite;
  for (size_t i = 0; i < decades.size(); ++i) decades[i] += other.decades[i];
}

}  // namespace vernier

#include "vernier/evaluate/statistics/paired_proportions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/evaluate/statistics/normal.h"

namespace vernier {

ConfidenceInterval wilson_interval(double hits, double rows, double confidence) {
  if (!(rows > 0)) return {0, 1};
  const double z = normal_quantile((1 + confidence) / 2), share = hits / rows, square = z * z / rows;
  const double middle = share + square / 2;
  const double reach = z * std::sqrt(share * (1 - share) / rows + square / (4 * rows));
  return {std::max(0.0, (middle - reach) / (1 + square)), std::min(1.0, (middle + reach) / (1 + square))};
}

double mcnemar_exact(uint64_t lost, uint64_t gained) {
  const uint64_t differ = lost + gained, fewer = std::min(lost, gained);
  double tail = 0;
  const auto n = static_cast<double>(differ);
  for (uint64_t i = 0; i <= fewer; ++i) {
    const auto k = static_cast<double>(i);
    tail += std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) - n * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

double tango_score(const PairedCounts& counts, double drop) {
  const auto& [n, lost, gained] = counts;
  const double seen = lost - gained - n * drop;
  // The share of gained rows that is most likely where the drop is this.
  const double a = 2 * n, b = -lost - gained + (2 * n - lost + gained) * drop,
               c = -gained * drop * (1 - drop);
  const double gained_share = (std::sqrt(std::max(0.0, b * b - 4 * a * c)) - b) / (2 * a);
  const double variance = n * (2 * gained_share + drop * (1 - drop));
  if (variance > 0) return seen / std::sqrt(variance);
  return seen == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), seen);
}

ConfidenceInterval tango_interval(const PairedCounts& counts, double confidence) {
  if (!(counts.rows > 0)) return {-1, 1};
  const double z = normal_quantile((1 + confidence) / 2), seen = counts.drop();
  // The score falls as the drop rises.
  const auto root = [&](double low, double high, double wanted) {
    for (int i = 0; i < 100 && low < high; ++i) {
      const double middle = low + (high - low) / 2;
      if (middle == low || middle == high) break;
      (tango_score(counts, middle) > wanted ? low : high) = middle;
    }
    return low + (high - low) / 2;
  };
  return {root(-1, seen, z), root(seen, 1, -z)};
}

}  // namespace vernier

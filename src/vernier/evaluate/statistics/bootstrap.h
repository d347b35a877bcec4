// The paired bootstrap over rows, bias-corrected and accelerated (Efron, 1987).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "vernier/evaluate/statistics/interval.h"

namespace vernier {

// A figure of rows, each counted as often as its number says. Thread-safe.
using RowStatistic = std::function<double(std::span<const uint32_t> counts)>;

// Resampling fewer rows tells nothing.
inline constexpr size_t kFewestBootstrapRows = 10;

struct BootstrapOptions {
  uint64_t seed = 1;
  size_t draws = 10000;
};

class Bootstrap {
 public:
  // The same for every number of threads.
  Bootstrap(size_t rows, const RowStatistic& statistic, const BootstrapOptions& options);

  double value() const { return value_; }  // of all rows, once each
  // Gives the value that the statistic of other such rows is below, with this confidence.
  double quantile(double confidence) const;
  ConfidenceInterval interval(double confidence) const {
    return {quantile((1 - confidence) / 2), quantile((1 + confidence) / 2)};
  }
  // The confidence with which the statistic is below `limit`: that whose quantile it is.
  double confidence_below(double limit) const;

 private:
  double value_ = 0, bias_ = 0, acceleration_ = 0;
  std::vector<double> draws_;  // sorted
};

}  // namespace vernier

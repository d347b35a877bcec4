#include "vernier/evaluate/statistics/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "vernier/base/hash.h"
#include "vernier/base/threads.h"
#include "vernier/evaluate/statistics/normal.h"

namespace vernier {

namespace {

// Where there are more rows, some are left out together: the acceleration is the same but for noise.
constexpr size_t kMostJackknives = 1000;

// Rows drawn with replacement. The bits of a draw depend on its number alone.
void draw_counts(uint64_t seed, size_t draw, std::vector<uint32_t>& counts) {
  std::mt19937_64 random(hash_combine(seed, draw));
  std::fill(counts.begin(), counts.end(), 0);
  const auto rows = static_cast<unsigned __int128>(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) ++counts[static_cast<size_t>((random() * rows) >> 64)];
}

double acceleration(size_t rows, const RowStatistic& statistic) {
  const size_t groups = std::min(rows, kMostJackknives);
  std::vector<double> without(groups);
  parallel_for(static_cast<int64_t>(groups), 16, [&](int64_t begin, int64_t end) {
    std::vector<uint32_t> counts(rows, 1);
    for (auto g = static_cast<size_t>(begin); g < static_cast<size_t>(end); ++g) {
      const auto set = [&](uint32_t count) {
        for (size_t row = g; row < rows; row += groups) counts[row] = count;
      };
      set(0);
      without[g] = statistic(counts);
      set(1);
    }
  });
  double mean = 0, squares = 0, cubes = 0;
  for (const double each : without) mean += each / static_cast<double>(groups);
  for (const double each : without) {
    const double influence = mean - each;
    squares += influence * influence;
    cubes += influence * influence * influence;
  }
  const double result = cubes / (6 * std::pow(squares, 1.5));
  return std::isfinite(result) ? result : 0;
}

}  // namespace

Bootstrap::Bootstrap(size_t rows, const RowStatistic& statistic, const BootstrapOptions& options)
    : value_(statistic(std::vector<uint32_t>(rows, 1))), draws_(options.draws) {
  parallel_for(static_cast<int64_t>(options.draws), 64, [&](int64_t begin, int64_t end) {
    std::vector<uint32_t> counts(rows);
    for (auto draw = static_cast<size_t>(begin); draw < static_cast<size_t>(end); ++draw) {
      draw_counts(options.seed, draw, counts);
      draws_[draw] = statistic(counts);
    }
  });
  // A draw may hold nothing that the statistic is about, as rows of one class alone.
  std::erase_if(draws_, [](double value) { return std::isnan(value); });
  std::sort(draws_.begin(), draws_.end());
  if (draws_.empty()) draws_.push_back(value_);
  // Draws that are equal to the value count half, so that ties are no bias.
  const auto [low, high] = std::equal_range(draws_.begin(), draws_.end(), value_);
  const auto all = static_cast<double>(draws_.size());
  const double below =
      (static_cast<double>(low - draws_.begin()) + static_cast<double>(high - low) / 2) / all;
  bias_ = normal_quantile(std::clamp(below, 0.5 / all, 1 - 0.5 / all));
  acceleration_ = acceleration(rows, statistic);
}

double Bootstrap::quantile(double confidence) const {
  const double z = bias_ + normal_quantile(confidence);
  const double share = normal_cdf(bias_ + z / std::max(1e-9, 1 - acceleration_ * z));
  const double at = share * static_cast<double>(draws_.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, draws_.size() - 1);
  return draws_[below] + (at - static_cast<double>(below)) * (draws_[above] - draws_[below]);
}

double Bootstrap::confidence_below(double limit) const {
  const auto all = static_cast<double>(draws_.size());
  const auto low = std::lower_bound(draws_.begin(), draws_.end(), limit);
  // One draw more on each side: what none of them shows is not impossible.
  const double share =
      std::clamp(static_cast<double>(low - draws_.begin()) / all, 1 / (all + 1), all / (all + 1));
  const double z = normal_quantile(share) - bias_;
  return std::clamp(normal_cdf(z / std::max(1e-9, 1 + acceleration_ * z) - bias_), 1 / (all + 1),
                    all / (all + 1));
}

}  // namespace vernier

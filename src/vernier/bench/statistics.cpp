#include "vernier/bench/statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

namespace vernier {

namespace {

constexpr int kResamples = 2000;

double percentile(const std::vector<double>& sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Summary summarise(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {percentile(values, 0.5),
          percentile(values, 0.9),
          percentile(values, 0.95),
          percentile(values, 0.99),
          sum / static_cast<double>(values.size()),
          values.front(),
          values.back()};
}

Interval median_interval(const std::vector<double>& values, uint64_t seed) {
  if (values.empty()) return {};
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<size_t> any(0, values.size() - 1);
  std::vector<double> medians, resample(values.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : resample) value = values[any(random)];
    std::sort(resample.begin(), resample.end());
    medians.push_back(percentile(resample, 0.5));
  }
  std::sort(medians.begin(), medians.end());
  return {percentile(medians, 0.025), percentile(medians, 0.975)};
}

double shortest(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  constexpr double kBudget = 0.05;  // seconds
  constexpr int kLeast = 3;
  double best = 1e9, spent = 0;
  run();
  for (int i = 0; i < kLeast || spent < kBudget; ++i) {
    const auto start = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

}  // namespace vernier

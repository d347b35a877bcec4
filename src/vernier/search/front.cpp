#include "vernier/search/front.h"

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

bool keeps(const RacedPlan& plan, double limit) {
  return plan.selection.holds(limit) && plan.held_out.holds(limit);
}

// The probability of at most `beyond` of `samples`, if each has probability `share`.
double probability_of_at_most(size_t beyond, size_t samples, double share) {
  double sum = 0;
  for (size_t k = 0; k <= beyond; ++k) {
    const auto n = static_cast<double>(samples), i = static_cast<double>(k);
    const double ways = std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1);
    sum += std::exp(ways + i * std::log(share) + (n - i) * std::log1p(-share));
  }
  return sum;
}

}  // namespace

std::vector<size_t> pareto_front(const std::vector<RacedPlan>& raced) {
  std::vector<size_t> order;
  for (size_t i = 0; i < raced.size(); ++i) {
    if (raced[i].selection.failure.empty()) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(raced[a].latency_ms, raced[a].selection.error) <
           std::pair(raced[b].latency_ms, raced[b].selection.error);
  });
  std::vector<size_t> front;
  for (const size_t i : order) {
    if (front.empty() || raced[i].selection.error < raced[front.back()].selection.error) front.push_back(i);
  }
  return front;
}

std::optional<size_t> choose(const std::vector<RacedPlan>& raced, double limit) {
  std::optional<size_t> fastest, faster;
  for (size_t i = 0; i < raced.size(); ++i) {
    if (!keeps(raced[i], limit)) continue;
    if (!fastest || raced[i].ratio < raced[*fastest].ratio) fastest = i;
    const bool gains = raced[i].ratio < 1 && raced[i].ratio_interval.high < 1;
    if (gains && (!faster || raced[i].ratio < raced[*faster].ratio)) faster = i;
  }
  if (faster) return faster;
  if (!raced.empty() && keeps(raced.front(), limit)) return 0;
  return fastest;
}

std::optional<size_t> closest(const std::vector<RacedPlan>& raced) {
  const auto deviation = [&](size_t i) {
    return std::max(raced[i].selection.deviation, raced[i].held_out.deviation);
  };
  std::optional<size_t> best;
  for (size_t i = 0; i < raced.size(); ++i) {
    if (raced[i].selection.failure.empty() && (!best || deviation(i) < deviation(*best))) best = i;
  }
  return best;
}

double share_beyond_at_most(size_t beyond, size_t samples) {
  constexpr double kDoubt = 0.05;
  if (beyond >= samples) return 1;
  double low = 0, high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (probability_of_at_most(beyond, samples, middle) > kDoubt ? low : high) = middle;
  }
  return high;
}

}  // namespace vernier

#include "vernier/bench/shortest.h"

#include <algorithm>
#include <chrono>

namespace vernier {

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

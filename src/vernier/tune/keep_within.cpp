#include "vernier/tune/keep_within.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vernier {

namespace {

class Choice {
 public:
  explicit Choice(const std::vector<Approximation>& all)
      : all_(all), kept_(all.size(), true), sum_(all.empty() ? 0 : all[0].share.size()) {
    // Those without a bound go at once: nothing can be subtracted from infinity.
    for (size_t i = 0; i < all_.size(); ++i) {
      const auto& share = all_[i].share;
      kept_[i] = std::all_of(share.begin(), share.end(), [](double each) { return std::isfinite(each); });
      if (kept_[i]) add(i);
    }
  }

  std::vector<bool> make() {
    while (!fits()) give_up();
    std::vector<size_t> order(all_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return all_[a].saved > all_[b].saved; });
    for (const size_t i : order) take_back(i);
    return kept_;
  }

 private:
  void add(size_t i) {
    for (size_t at = 0; at < sum_.size(); ++at) sum_[at] += all_[i].share[at];
  }

  // Summed anew, so that a rest is not what rounding left.
  void sum() {
    std::fill(sum_.begin(), sum_.end(), 0);
    for (size_t i = 0; i < all_.size(); ++i) {
      if (kept_[i]) add(i);
    }
  }

  bool fits() const {
    return std::all_of(sum_.begin(), sum_.end(), [](double each) { return each <= 1; });
  }

  void give_up() {
    size_t best = 0;
    double most = -1;
    for (size_t i = 0; i < all_.size(); ++i) {
      if (!kept_[i]) continue;
      double relief = 0;
      for (size_t at = 0; at < sum_.size(); ++at) {
        if (sum_[at] > 1) relief += all_[i].share[at] / sum_[at];
      }
      constexpr double kLeast = 1e-9;  // of what saves nothing, or as good as nothing
      const double score = relief / std::max(all_[i].saved, kLeast);
      if (score > most) most = score, best = i;
    }
    kept_[best] = false;
    sum();
  }

  void take_back(size_t i) {
    const auto& share = all_[i].share;
    if (kept_[i] || all_[i].saved <= 0) return;
    for (size_t at = 0; at < sum_.size(); ++at) {
      if (!(sum_[at] + share[at] <= 1)) return;
    }
    kept_[i] = true;
    sum();
  }

  const std::vector<Approximation>& all_;
  std::vector<bool> kept_;
  std::vector<double> sum_;
};

}  // namespace

std::vector<bool> keep_within_limit(const std::vector<Approximation>& approximations) {
  return Choice(approximations).make();
}

}  // namespace vernier

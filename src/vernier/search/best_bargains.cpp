#include "vernier/search/best_bargains.h"

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

constexpr size_t kMostBranches = 50'000;

class Knapsack {
 public:
  Knapsack(const std::vector<UnitSensitivity>& sensitivities, size_t units)
      : moves_(moves_of(sensitivities)),
        depth_of_(units, units),
        types_(units, ElementType::kFloat),
        best_(types_) {
    for (const TypeMove& move : moves_) {
      if (depth_of_[move.unit] < units) continue;
      depth_of_[move.unit] = options_.size();
      options_.emplace_back();
    }
    for (const UnitSensitivity& each : sensitivities) {
      if (std::isfinite(each.error) && each.gain_ms > 0) options_.at(depth_of_[each.unit]).push_back(each);
    }
    for (auto& list : options_)
      std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.gain_ms > b.gain_ms; });
  }

  TypeAssignment solve(double room) {
    branch(0, 0, room);
    return best_;
  }

 private:
  // What the units from this depth on gain at most: the last move in part, which is the linear relaxation.
  double bound(size_t depth, double room) const {
    double gain = 0;
    for (const TypeMove& move : moves_) {
      if (depth_of_[move.unit] < depth) continue;
      if (move.squared_error > room) return gain + move.gain_ms * room / move.squared_error;
      gain += move.gain_ms;
      room -= move.squared_error;
    }
    return gain;
  }

  void branch(size_t depth, double gain, double room) {
    if (gain > most_) most_ = gain, best_ = types_;
    if (depth == options_.size() || ++branches_ > kMostBranches || gain + bound(depth, room) <= most_) return;
    for (const UnitSensitivity& each : options_[depth]) {
      const double square = each.error * each.error;
      if (square > room) continue;
      types_[each.unit] = each.type;
      branch(depth + 1, gain + each.gain_ms, room - square);
      types_[each.unit] = ElementType::kFloat;
    }
    branch(depth + 1, gain, room);
  }

  std::vector<TypeMove> moves_;
  std::vector<size_t> depth_of_;  // by unit; the number of units for those that gain nothing
  std::vector<std::vector<UnitSensitivity>> options_;  // by depth
  TypeAssignment types_, best_;
  double most_ = 0;
  size_t branches_ = 0;
};

}  // namespace

TypeAssignment best_bargains(const std::vector<UnitSensitivity>& sensitivities, size_t units, double room) {
  return Knapsack(sensitivities, units).solve(room);
}

}  // namespace vernier

#include "vernier/search/moves.h"

#include <algorithm>
#include <cmath>

namespace vernier {

namespace {

// Step times of two engines differ by a few percent where both do the same. Where a type makes the whole
// engine slower, what seems to gain is mostly that.
constexpr double kLeastShare = 0.03, kLeastShareOfSlower = 0.15;

double gain_for_error(const TypeMove& move) {
  return move.squared_error > 0 ? move.gain_ms / move.squared_error : std::numeric_limits<double>::infinity();
}

std::vector<TypeMove> chain_of(std::vector<UnitSensitivity> points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) {
    return std::pair(a.error, -a.gain_ms) < std::pair(b.error, -b.gain_ms);
  });
  std::vector<TypeMove> chain;
  for (const UnitSensitivity& point : points) {
    if (!std::isfinite(point.error) || point.gain_ms <= 0) continue;
    const double square = point.error * point.error;
    double gain = 0, error = 0;
    for (const TypeMove& move : chain) gain += move.gain_ms, error += move.squared_error;
    if (point.gain_ms <= gain) continue;
    // A move that gains less for its error than this one is no stop on the way.
    while (!chain.empty()) {
      const TypeMove& last = chain.back();
      const TypeMove through{point.unit, last.to, point.type, point.gain_ms - gain, square - error};
      if (gain_for_error(last) > gain_for_error(through)) break;
      gain -= last.gain_ms, error -= last.squared_error;
      chain.pop_back();
    }
    const ElementType from = chain.empty() ? ElementType::kFloat : chain.back().to;
    chain.push_back({point.unit, from, point.type, point.gain_ms - gain, square - error});
  }
  return chain;
}

}  // namespace

double gain_of(const UnitTimes& times, size_t unit, ElementType type) {
  const auto wide = times.units.find(ElementType::kFloat), narrow = times.units.find(type);
  if (wide == times.units.end() || narrow == times.units.end()) return 0;
  const bool is_faster = times.whole.at(type) < times.whole.at(ElementType::kFloat);
  const double time = wide->second.at(unit), gain = time - narrow->second.at(unit);
  return gain > (is_faster ? kLeastShare : kLeastShareOfSlower) * time ? gain : 0;
}

std::vector<TypeMove> moves_of(const std::vector<UnitSensitivity>& sensitivities) {
  std::map<size_t, std::vector<UnitSensitivity>> by_unit;
  for (const UnitSensitivity& each : sensitivities) by_unit[each.unit].push_back(each);
  std::vector<TypeMove> moves;
  for (auto& [unit, points] : by_unit) {
    const auto chain = chain_of(std::move(points));
    moves.insert(moves.end(), chain.begin(), chain.end());
  }
  std::stable_sort(moves.begin(), moves.end(), [](const TypeMove& a, const TypeMove& b) {
    return gain_for_error(a) > gain_for_error(b);
  });
  return moves;
}

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
  // Bounds what the units from this depth on gain: the last move in part, which is the linear relaxation.
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

TypeAssignment best_moves(const std::vector<UnitSensitivity>& sensitivities, size_t units, double room) {
  return Knapsack(sensitivities, units).solve(room);
}

}  // namespace vernier

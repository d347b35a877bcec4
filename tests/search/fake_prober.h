// A model in numbers: what each unit gains and costs in each type, and how costs add up.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "vernier/search/plan_search.h"

namespace vernier {

inline constexpr ElementType kWide = ElementType::kFloat, kHalf = ElementType::kBFloat16,
                             kByte = ElementType::kInt8;

class FakeProber : public PlanProber {
 public:
  struct Cost {
    double gain_ms = 0, error = 0;
  };
  // `costs` holds those of each unit, by type.
  explicit FakeProber(std::vector<std::map<ElementType, Cost>> costs) : costs_(std::move(costs)) {
    for (size_t i = 0; i < costs_.size(); ++i) {
      SearchUnit& unit = units_.emplace_back();
      unit.nodes = {fmt::format("node{}", i)};
      for (const auto& [type, cost] : costs_[i]) unit.types.push_back(type);
    }
  }

  const std::vector<SearchUnit>& units() const override { return units_; }
  bool starts_declared() const override { return !start.has_value(); }

  UnitTimes times() override {
    UnitTimes times;
    std::set<ElementType> types{kWide};
    for (const SearchUnit& unit : units_) types.insert(unit.types.begin(), unit.types.end());
    for (const ElementType type : types) {
      double whole = kUnit * static_cast<double>(units_.size());
      for (const auto& costs : costs_) {
        const double gained = costs.contains(type) ? costs.at(type).gain_ms : 0;
        times.units[type].push_back(kUnit - gained);
        whole -= gained;
      }
      times.whole[type] = whole;
    }
    return times;
  }

  std::optional<PlanScore> score(const TypeAssignment& types, DataPart part) override {
    ++scores;
    PlanScore score;
    score.error = score.deviation = error(types, part);
    score.samples = 1;
    return score;
  }

  std::vector<RacedPlan> race(const std::vector<CandidatePlan>& plans) override {
    std::vector<RacedPlan> raced;
    for (const CandidatePlan& plan : plans) {
      const TypeAssignment first = start.value_or(TypeAssignment(units_.size(), kWide));
      const TypeAssignment types = plan.value_or(first);
      const double whole = kUnit * static_cast<double>(units_.size());
      const double ratio = (whole - gain(types)) / (whole - gain(first));
      RacedPlan& each = raced.emplace_back();
      each.types = plan;
      each.latency_ms = whole - gain(types);
      each.ratio = ratio;
      each.ratio_interval = {ratio, ratio};
      each.selection = *score(types, DataPart::kSelection);
      each.held_out = *score(types, DataPart::kHeldOut);
    }
    ++races;
    if (timing) timing(raced);
    return raced;
  }

  double gain(const TypeAssignment& types) const {
    double sum = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i] != kWide) sum += costs_[i].at(types[i]).gain_ms;
    }
    return sum;
  }

  // Independent errors; `more` adds what happens between units.
  double error(const TypeAssignment& types, DataPart part) const {
    double sum = 0;
    for (size_t i = 0; i < types.size(); ++i) {
      const double each = types[i] == kWide ? 0 : costs_[i].at(types[i]).error;
      sum += each * each;
    }
    return std::sqrt(sum) + (more ? more(types, part) : 0);
  }

  // The largest gain of all assignments that keep the limit on all data.
  double best_gain(double limit) const {
    TypeAssignment types(units_.size(), kWide);
    return best_gain(limit, types, 0);
  }

  std::function<double(const TypeAssignment&, DataPart)> more;
  std::function<void(std::vector<RacedPlan>&)> timing;  // changes what a race gave
  std::optional<TypeAssignment> start;                  // a plan that was given
  size_t scores = 0, races = 0;

 private:
  static constexpr double kUnit = 10;

  double best_gain(double limit, TypeAssignment& types, size_t at) const {
    if (at == types.size()) {
      const bool holds =
          error(types, DataPart::kSelection) <= limit && error(types, DataPart::kHeldOut) <= limit;
      return holds ? gain(types) : -1;
    }
    types[at] = kWide;
    double best = best_gain(limit, types, at + 1);
    for (const ElementType type : units_[at].types) {
      types[at] = type;
      best = std::max(best, best_gain(limit, types, at + 1));
    }
    types[at] = kWide;
    return best;
  }

  std::vector<SearchUnit> units_;
  std::vector<std::map<ElementType, Cost>> costs_;
};

}  // namespace vernier

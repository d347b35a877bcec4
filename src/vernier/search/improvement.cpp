// PlanSearch makes a plan that keeps the limit faster.
#include <algorithm>
#include <cmath>

#include "vernier/search/moves.h"
#include "vernier/search/plan_search.h"

namespace vernier {

namespace {

// Assignments that are predicted to hold, and how much more their errors may be than the first sample tells
// that was beyond.
constexpr size_t kPredictions = 3;
constexpr double kCaution = 0.9;

}  // namespace

// Each exchange may make room for what was refused before.
void PlanSearch::exchange() {
  std::stable_sort(refused_.begin(), refused_.end(),
                   [](const TypeMove& a, const TypeMove& b) { return a.gain_ms > b.gain_ms; });
  size_t left = options_.most_swaps;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < refused_.size(); ++i) {
      if (left == 0 || is_over()) return;
      const TypeMove move = refused_[i];  // others are put behind it
      if (current_[move.unit] == move.from)
        changed = add_alone(move, left) || exchange(move, left) || changed;
    }
  }
}

// Where something was taken back since it was refused.
bool PlanSearch::add_alone(const TypeMove& move, size_t& left) {
  TypeAssignment types = current_;
  types[move.unit] = move.to;
  if (options_.predicts && predicted_square(types) > limit_ * limit_) return false;
  if (known_.contains({types, DataPart::kSelection}) || left == 0) return false;
  --left;
  if (!holds(types)) return false;
  apply(move);
  return true;
}

// Takes back what gains less, the least first, until there is room for `refused`.
bool PlanSearch::exchange(const TypeMove& refused, size_t& left) {
  std::vector<TypeMove> cheaper;
  for (const TypeMove& move : applied_) {
    // The last stop of its unit.
    if (move.unit != refused.unit && current_[move.unit] == move.to && move.gain_ms < refused.gain_ms)
      cheaper.push_back(move);
  }
  std::stable_sort(cheaper.begin(), cheaper.end(),
                   [](const TypeMove& a, const TypeMove& b) { return a.gain_ms < b.gain_ms; });
  const double limit = limit_ * limit_;
  for (const TypeMove& move : cheaper) {
    TypeAssignment types = current_;
    types[refused.unit] = refused.to;
    types[move.unit] = move.from;
    if (options_.predicts && predicted_square(types) > limit) continue;
    if (left == 0) return false;
    --left;
    if (!holds(types)) continue;
    std::erase_if(applied_,
                  [&](const TypeMove& each) { return each.unit == move.unit && each.to == move.to; });
    current_[move.unit] = move.from;
    refused_.push_back(move);
    apply(refused);
    return true;
  }
  return false;
}

// Where errors are as independent as they are taken to be, this is the best there is; where they are not, it
// is asked for with as much less room as it was wrong by.
void PlanSearch::try_prediction() {
  double room = limit_ * limit_;
  for (size_t attempt = 0; attempt < kPredictions && !is_over(); ++attempt) {
    const TypeAssignment types = best_moves(result_.sensitivities, current_.size(), room);
    if (gain(types) <= gain(current_)) return;
    const auto scored = score(types);
    if (!scored || !std::isfinite(scored->error)) return;
    if (!scored->holds(limit_)) {
      room *= std::pow(kCaution * limit_ / scored->error, 2);
      continue;
    }
    current_ = types;
    applied_.clear();
    for (const TypeMove& move : moves_) {
      if (types[move.unit] == move.to) applied_.push_back(move);
    }
    return;
  }
}

}  // namespace vernier

#include "vernier/engine/sizes/tuned_sizes.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace vernier {

namespace {

// How far sizes lie apart: the sum, over all dimensions, of how often one is doubled to be the other.
double distance(const std::vector<ValueType>& a, const std::vector<ValueType>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!a[i].is_tensor() || !b[i].is_tensor() || !a[i].tensor.shape || !b[i].tensor.shape) continue;
    const auto from = to_dims(*a[i].tensor.shape), to = to_dims(*b[i].tensor.shape);
    if (!from || !to || from->size() != to->size() || a[i].tensor.element != b[i].tensor.element)
      return HUGE_VAL;
    for (size_t axis = 0; axis < from->size(); ++axis)
      sum += std::abs(
          std::log2((static_cast<double>((*from)[axis]) + 1) / (static_cast<double>((*to)[axis]) + 1)));
  }
  return sum;
}

double elements(const std::vector<ValueType>& inputs) {
  double sum = 0;
  for (const ValueType& input : inputs) {
    const auto dims = input.is_tensor() && input.tensor.shape ? to_dims(*input.tensor.shape) : std::nullopt;
    if (dims) sum += static_cast<double>(element_count(*dims));
  }
  return sum;
}

const std::string& tactic_of(const TunedSizes& sizes, const std::string& value) {
  static const std::string own;
  const auto found = sizes.choices.tactics.find(value);
  return found == sizes.choices.tactics.end() ? own : found->second;
}

}  // namespace

std::shared_ptr<const TunedSizes> TunedChoices::nearest(const std::vector<ValueType>& inputs) const {
  std::shared_ptr<const TunedSizes> nearest;
  double least = HUGE_VAL;
  for (const auto& each : all_) {
    if (each->inputs == inputs) return each;
    const double apart = distance(each->inputs, inputs);
    if (nearest != nullptr && apart >= least) continue;
    nearest = each;
    least = apart;
  }
  return nearest;
}

std::map<std::string, std::vector<TacticRange>> tactic_ranges(const std::vector<TunedSizes>& tuned) {
  std::vector<const TunedSizes*> ordered;
  std::set<std::string> values;
  for (const TunedSizes& each : tuned) {
    ordered.push_back(&each);
    for (const auto& entry : each.choices.tactics) values.insert(entry.first);
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const TunedSizes* a, const TunedSizes* b) {
    return elements(a->inputs) < elements(b->inputs);
  });
  std::map<std::string, std::vector<TacticRange>> all;
  for (const std::string& value : values) {
    std::vector<TacticRange> ranges;
    for (const TunedSizes* sizes : ordered) {
      const std::string& tactic = tactic_of(*sizes, value);
      if (ranges.empty() || ranges.back().tactic != tactic) ranges.push_back({tactic, sizes->inputs, {}});
      ranges.back().last = sizes->inputs;
    }
    if (ranges.size() > 1) all.emplace(value, std::move(ranges));
  }
  return all;
}

}  // namespace vernier

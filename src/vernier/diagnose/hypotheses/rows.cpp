#include "vernier/diagnose/hypotheses/rows.h"

#include <cmath>
#include <set>

namespace vernier {

double Rows::distance(size_t made_row, size_t right_row) const {
  double sum = 0;
  for (size_t i = 0; i < size; ++i) {
    const double difference = made[made_row * size + i] - right[right_row * size + i];
    sum += difference == difference ? difference * difference : HUGE_VAL;
  }
  return sum;
}

size_t Rows::nearest(size_t made_row, const std::vector<bool>& taken) const {
  size_t best = made_row;
  double least = distance(made_row, best);
  for (size_t row = 0; row < count; ++row) {
    const double to_row = distance(made_row, row);
    if (to_row > least || (to_row == least && (taken[row] || !taken[best]))) continue;
    best = row;
    least = to_row;
  }
  return best;
}

std::vector<size_t> Rows::order() const {
  std::vector<size_t> order(count);
  std::vector<bool> taken(count, false);
  for (size_t row = 0; row < count; ++row) {
    order[row] = nearest(row, taken);
    taken[order[row]] = true;
  }
  return order;
}

std::vector<double> Rows::taken(const std::vector<size_t>& order) const {
  std::vector<double> values;
  for (const size_t row : order)
    values.insert(values.end(), right.begin() + static_cast<ptrdiff_t>(row * size),
                  right.begin() + static_cast<ptrdiff_t>((row + 1) * size));
  return values;
}

bool is_in_place(const std::vector<size_t>& order) {
  for (size_t row = 0; row < order.size(); ++row) {
    if (order[row] != row) return false;
  }
  return true;
}

bool is_permutation(const std::vector<size_t>& order) {
  return std::set<size_t>(order.begin(), order.end()).size() == order.size();
}

}  // namespace vernier

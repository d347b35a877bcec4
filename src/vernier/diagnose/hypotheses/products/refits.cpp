// B47: a layer has other weights than the model: those from before a refit, or of another model.
#include <cmath>

#include "vernier/diagnose/causes/least_squares.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/products/products.h"

namespace vernier {

namespace {

// What one column of results is, as sums of a row of factors.
struct Fit {
  std::vector<double> values;  // by element of the result
  bool is_other = false;       // no column of them is a multiple of what is right
};

// Whether `made` is a multiple of `right`, and an offset.
bool is_multiple(const std::vector<double>& right, const std::vector<double>& made) {
  const double count = static_cast<double>(right.size());
  double mean_right = 0, mean_made = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    mean_right += right[i] / count;
    mean_made += made[i] / count;
  }
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    const double x = right[i] - mean_right, y = made[i] - mean_made;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  constexpr double kAlike = 1e-5;  // of the square that no multiple explains
  return yy == 0 || (xx > 0 && yy - xy * xy / xx <= kAlike * yy);
}

// Rows that say enough of the weights: clearly more than these have elements.
bool suffice(const MatrixProduct& product) {
  constexpr double kMore = 1.25, kMostWork = 4e9;
  const double length = static_cast<double>(product.length + 1), rows = static_cast<double>(product.rows);
  return rows >= kMore * length + 8 &&
         static_cast<double>(product.groups) * rows * length * length <= kMostWork;
}

Fit fitted(const MatrixProduct& product, const Tensor& right, const Tensor& made) {
  const auto sound = right.to_doubles(), actual = made.to_doubles();
  Fit fit{sound, false};
  const auto rows = static_cast<size_t>(product.rows), length = static_cast<size_t>(product.length),
             columns = static_cast<size_t>(product.columns);
  size_t others = 0, changed = 0;
  for (int64_t group = 0; group < product.groups; ++group) {
    std::vector<double> a(rows * (length + 1)), b(rows * columns);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t k = 0; k < length; ++k)
        a[row * (length + 1) + k] =
            product.left_at(group, static_cast<int64_t>(row), static_cast<int64_t>(k));
      a[row * (length + 1) + length] = 1;  // the bias
      for (size_t column = 0; column < columns; ++column)
        b[row * columns + column] =
            actual[product.result_at(group, static_cast<int64_t>(row), static_cast<int64_t>(column))];
    }
    const auto weights = least_squares(a, b, rows, length + 1, columns);
    for (size_t column = 0; column < columns; ++column) {
      std::vector<double> before, now;
      for (size_t row = 0; row < rows; ++row) {
        const size_t at = product.result_at(group, static_cast<int64_t>(row), static_cast<int64_t>(column));
        double sum = 0;
        for (size_t k = 0; k <= length; ++k) sum += a[row * (length + 1) + k] * weights[k * columns + column];
        before.push_back(sound[at]);
        now.push_back(actual[at]);
        fit.values[at] = sum;
      }
      ++changed;
      others += is_multiple(before, now) ? 0 : 1;
    }
  }
  constexpr double kMostColumns = 0.8;  // weights of another training leave hardly any column as it was
  fit.is_other = static_cast<double>(others) >= kMostColumns * static_cast<double>(changed);
  return fit;
}

}  // namespace

void propose_refits(const Member& member, const Suspect& suspect, const Scene&,
                    std::vector<Proposal>& proposals) {
  const auto factors = factors_of(member.node());
  if (!factors || !member.is_constant(factors->second) || !is_float(member.out().type())) return;
  const auto output = stored_output(member, 0, suspect);
  if (!output || !suspect.made[*output].is_defined() || suspect.made[*output].dims() != member.out().dims())
    return;
  const Tensor& made = suspect.made[*output];
  const auto actual = made.to_doubles();
  if (!std::all_of(actual.begin(), actual.end(), [](double value) { return std::isfinite(value); })) return;
  const auto product = product_of(member, member.in(factors->first), member.in(factors->second));
  if (!product || !suffice(*product)) return;
  // Many numbers are fitted: whatever is a sum of what the node reads looks like this.
  constexpr double kFitted = 0.15;
  proposals.push_back({FailureClass(47),
                       "it has other weights: those from before a refit, or of another model",
                       [&member, &made, product = *product] {
                         Fit fit = fitted(product, member.out(), made);
                         if (!fit.is_other)
                           throw unsupported("the weights are multiples of what they should be");
                         return Tensors{
                             Tensor::from_doubles(member.out().type(), member.out().dims(), fit.values)};
                       },
                       {},
                       kFitted});
}

}  // namespace vernier

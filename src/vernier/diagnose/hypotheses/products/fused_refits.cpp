// B47: a layer has other weights than the model, in a kernel that shows only what an activation leaves of its
// sums.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/causes/least_squares.h"
#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/products/products.h"

namespace vernier {

namespace {

// Describes what follows the sums of a column, as far as the activation lets it through: scale * sum +
// offset.
struct Affine {
  double scale = 0, offset = 0;
};

// By two points that are far apart. Nothing if the others do not lie on that line.
std::optional<Affine> line_through(const std::vector<double>& sums, const std::vector<double>& results) {
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  if (sums.size() < 3 || *low == *high) return std::nullopt;
  const auto at = [&](auto place) { return results[static_cast<size_t>(place - sums.begin())]; };
  Affine line;
  line.scale = (at(high) - at(low)) / (*high - *low);
  line.offset = at(low) - line.scale * *low;
  constexpr double kSame = 1e-4;
  for (size_t i = 0; i < sums.size(); ++i) {
    const double error = std::abs(line.scale * sums[i] + line.offset - results[i]);
    if (error > kSame * (std::abs(results[i]) + std::abs(line.offset) + 1e-6)) return std::nullopt;
  }
  return line.scale == 0 ? std::nullopt : std::optional(line);
}

class FusedFit {
 public:
  FusedFit(const MatrixProduct& product, const Tensor& sums, const Tensor& sound, const Tensor& made)
      : product_(product), sums_(sums.to_doubles()), sound_(sound.to_doubles()), made_(made.to_doubles()) {}

  // The sums that other weights would make; of columns whose rows do not tell them, those that are right.
  std::vector<double> sums() {
    std::vector<double> fitted = sums_;
    for (int64_t group = 0; group < product_.groups; ++group) {
      for (int64_t column = 0; column < product_.columns; ++column) fit(group, column, fitted);
    }
    return fitted;
  }

 private:
  size_t at(int64_t group, int64_t row, int64_t column) const {
    return product_.result_at(group, row, column);
  }

  // An activation passes on what is positive.
  std::vector<int64_t> rows_passed(int64_t group, int64_t column, const std::vector<double>& results) const {
    std::vector<int64_t> rows;
    for (int64_t row = 0; row < product_.rows; ++row) {
      if (results[at(group, row, column)] > 0) rows.push_back(row);
    }
    return rows;
  }

  void fit(int64_t group, int64_t column, std::vector<double>& fitted) const {
    std::vector<double> before, behind;
    for (const int64_t row : rows_passed(group, column, sound_)) {
      before.push_back(sums_[at(group, row, column)]);
      behind.push_back(sound_[at(group, row, column)]);
    }
    const auto line = line_through(before, behind);
    auto rows = rows_passed(group, column, made_);
    const auto length = static_cast<size_t>(product_.length) + 1;
    constexpr size_t kEnough = 3;  // times the weights
    // Nothing is known of a column that hardly passes: what it should be is as good as any guess.
    if (!line || rows.size() < length + length / 4 + 8) return;
    rows.resize(std::min(rows.size(), kEnough * length));
    std::vector<double> a, b;
    for (const int64_t row : rows) {
      for (int64_t k = 0; k < product_.length; ++k) a.push_back(product_.left_at(group, row, k));
      a.push_back(1);
      b.push_back((made_[at(group, row, column)] - line->offset) / line->scale);
    }
    const auto weights = least_squares(a, b, rows.size(), length, 1);
    for (int64_t row = 0; row < product_.rows; ++row) {
      double sum = weights.back();
      for (int64_t k = 0; k < product_.length; ++k)
        sum += product_.left_at(group, row, k) * weights[static_cast<size_t>(k)];
      fitted[at(group, row, column)] = sum;
    }
  }

  const MatrixProduct& product_;
  std::vector<double> sums_, sound_, made_;
};

bool is_bearable(const MatrixProduct& product) {
  constexpr double kMostWork = 2e10;
  const double length = static_cast<double>(product.length + 1);
  return static_cast<double>(product.groups * product.columns) * 3 * length * length * length <= kMostWork;
}

}  // namespace

void propose_fused_refits(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                          std::vector<Proposal>& proposals) {
  const auto factors = factors_of(member.node());
  if (!factors || !member.is_constant(factors->second) || stored_output(member, 0, flagged) ||
      flagged.made.size() != 1 || !flagged.made[0].is_defined() ||
      flagged.made[0].dims() != member.out().dims())
    return;
  const auto product = product_of(member, member.in(factors->first), member.in(factors->second));
  if (!product || !is_bearable(*product)) return;
  constexpr double kFitted = 0.15;  // as of every fit of so many numbers (refits.cpp)
  proposals.push_back({FailureClass(47),
                       "it has other weights: those from before a refit, or of another model",
                       [&member, &flagged, product = *product] {
                         FusedFit fit(product, member.out(), flagged.expected[0].value, flagged.made[0]);
                         return Tensors{
                             Tensor::from_doubles(member.out().type(), member.out().dims(), fit.sums())};
                       },
                       {},
                       kFitted,
                       false,
                       true});
}

}  // namespace vernier

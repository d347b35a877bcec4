#include "vernier/ops/support/ml/post_transform.h"

#include <numbers>

#include "vernier/ops/support/nn/sigmoid.h"

namespace vernier::ops {

namespace {

// The inverse of the normal distribution function: Winitzki's approximation of the inverse error function,
// then Newton steps to full precision.
double probit(double p) {
  if (p == 0 || p == 1)
    return p == 0 ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (!(p > 0 && p < 1)) return std::numeric_limits<double>::quiet_NaN();
  constexpr double kWinitzki = 0.147;
  const double log = std::log(4 * p * (1 - p)), half = 2 / (std::numbers::pi * kWinitzki) + log / 2;
  double x = std::copysign(std::sqrt(2 * (std::sqrt(half * half - log / kWinitzki) - half)), p - 0.5);
  for (int step = 0; step < 4; ++step) {
    // erfc keeps the tails exact.
    const double error = x < 0 ? std::erfc(-x / std::numbers::sqrt2) / 2 - p
                               : (1 - p) - std::erfc(x / std::numbers::sqrt2) / 2;
    x -= error * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  }
  return x;
}

// With `keep_zero`, scores of zero are scaled, not exponentiated: they stay zero.
void softmax(std::span<double> scores, bool keep_zero) {
  constexpr double kZero = 1e-7;
  const double top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double& score : scores) {
    score = keep_zero && std::abs(score) <= kZero ? score * std::exp(-top) : std::exp(score - top);
    sum += score;
  }
  for (double& score : scores) score = sum == 0 ? 0.5 : score / sum;
}

}  // namespace

PostTransform post_transform_of(const Node& node) {
  static constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const Attribute* attribute = node.find_attribute("post_transform");
  if (attribute == nullptr) return PostTransform::kNone;
  int64_t index = 0;
  if (const auto* number = std::get_if<int64_t>(&attribute->value()))
    index = *number;
  else
    index =
        std::find(std::begin(kNames), std::end(kNames), attribute->get<std::string>()) - std::begin(kNames);
  if (index < 0 || index >= std::ssize(kNames)) throw bad_input("post_transform is none that is known");
  return static_cast<PostTransform>(index);
}

void apply(PostTransform transform, std::span<double> scores) {
  if (scores.empty()) return;
  switch (transform) {
    case PostTransform::kNone: return;
    case PostTransform::kSoftmax: return softmax(scores, false);
    case PostTransform::kSoftmaxZero: return softmax(scores, true);
    case PostTransform::kLogistic:
      std::transform(scores.begin(), scores.end(), scores.begin(), sigmoid);
      return;
    case PostTransform::kProbit: std::transform(scores.begin(), scores.end(), scores.begin(), probit); return;
  }
}

}  // namespace vernier::ops

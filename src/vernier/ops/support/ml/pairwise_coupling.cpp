#include "vernier/ops/support/ml/pairwise_coupling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vernier::ops {

namespace {

// The quadratic form p'Qp that the probabilities minimise: Q[i][i] is the sum of pairs[j][i]^2 over j,
// Q[i][j] is -pairs[j][i] * pairs[i][j].
std::vector<double> coupling_form(const std::vector<double>& pairs, size_t classes) {
  std::vector<double> form(classes * classes);
  for (size_t i = 0; i < classes; ++i) {
    for (size_t j = 0; j < classes; ++j) {
      if (i == j) continue;
      const double against = pairs[j * classes + i];
      form[i * classes + i] += against * against;
      form[i * classes + j] = -against * pairs[i * classes + j];
    }
  }
  return form;
}

}  // namespace

std::vector<double> couple_pairs(const std::vector<double>& pairs, size_t classes) {
  constexpr int kSteps = 100;
  const double tolerance = 0.005 / static_cast<double>(classes);
  const auto form = coupling_form(pairs, classes);
  std::vector<double> p(classes, 1 / static_cast<double>(classes)), gradient(classes);
  for (int step = 0; step < kSteps; ++step) {
    for (size_t i = 0; i < classes; ++i)
      gradient[i] = std::inner_product(p.begin(), p.end(),
                                       form.begin() + static_cast<std::ptrdiff_t>(i * classes), 0.0);
    double value = std::inner_product(p.begin(), p.end(), gradient.begin(), 0.0);
    if (std::all_of(gradient.begin(), gradient.end(),
                    [&](double entry) { return std::abs(entry - value) < tolerance; }))
      break;
    // One probability after the other takes its best value; all are scaled to sum up to 1 again.
    for (size_t i = 0; i < classes; ++i) {
      const double curvature = form[i * classes + i], change = (value - gradient[i]) / curvature;
      const double scale = 1 + change;
      value = (value + change * (change * curvature + 2 * gradient[i])) / (scale * scale);
      p[i] += change;
      for (size_t j = 0; j < classes; ++j) {
        gradient[j] = (gradient[j] + change * form[i * classes + j]) / scale;
        p[j] /= scale;
      }
    }
  }
  return p;
}

}  // namespace vernier::ops

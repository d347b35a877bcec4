// The activation functions of the recurrent operators.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/recurrent.h"

namespace vernier::ops {

namespace {

struct Row {
  std::string_view name;  // compared without regard to case
  bool has_alpha, has_beta;
  double alpha, beta;
  double (*function)(double x, double alpha, double beta);
};

// Activations that are operators, too, have the defaults of these.
const Row kRows[] = {
    {"affine", true, true, 1, 0, [](double x, double alpha, double beta) { return alpha * x + beta; }},
    {"elu", true, false, default_real("Elu", "alpha"), 0,
     [](double x, double alpha, double) { return x >= 0 ? x : alpha * std::expm1(x); }},
    {"hardsigmoid", true, true, default_real("HardSigmoid", "alpha"), default_real("HardSigmoid", "beta"),
     [](double x, double alpha, double beta) { return std::clamp(alpha * x + beta, 0.0, 1.0); }},
    {"leakyrelu", true, false, default_real("LeakyRelu", "alpha"), 0,
     [](double x, double alpha, double) { return x >= 0 ? x : alpha * x; }},
    {"relu", false, false, 0, 0, [](double x, double, double) { return x < 0 ? 0 : x; }},
    {"scaledtanh", true, true, 1, 1,
     [](double x, double alpha, double beta) { return alpha * std::tanh(beta * x); }},
    {"sigmoid", false, false, 0, 0, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    {"softplus", false, false, 0, 0,
     [](double x, double, double) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }},
    {"softsign", false, false, 0, 0, [](double x, double, double) { return x / (1 + std::abs(x)); }},
    {"tanh", false, false, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    {"thresholdedrelu", true, false, default_real("ThresholdedRelu", "alpha"), 0,
     [](double x, double alpha, double) { return x >= alpha ? x : 0; }},
};

double take(std::span<const float>& values, double fallback) {
  if (values.empty()) return fallback;
  const double value = values.front();
  values = values.subspan(1);
  return value;
}

}  // namespace

Activation::Activation(const std::string& name, std::span<const float>& alphas, std::span<const float>& betas,
                       double clip)
    : clip_(clip) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& candidate) { return candidate.name == lower; });
  if (row == std::end(kRows)) throw unsupported("activation '{}'", name);
  name_ = row->name;
  function_ = row->function;
  if (row->has_alpha) alpha_ = take(alphas, row->alpha);
  if (row->has_beta) beta_ = take(betas, row->beta);
}

}  // namespace vernier::ops

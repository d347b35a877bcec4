// Affine, Scale, ScaledTanh, ParametricSoftplus: experimental operators of the first opsets, which ONNX
// removed and ONNX Runtime still runs.
#include "vernier/ops/support/math/unary_real.h"

namespace vernier::ops {

namespace {

double required(const ReferenceContext& context, const char* name) {
  if (context.node().find_attribute(name) == nullptr)
    throw bad_input("{} lacks its attribute '{}'", context.node().op, name);
  return context.attribute<float>(name, 0);
}

void affine(ReferenceContext& context) {
  const double alpha = context.attribute<float>("alpha", 1), beta = context.attribute<float>("beta", 0);
  map_real(context, [=](double x) { return alpha * x + beta; });
}

void scale(ReferenceContext& context) {
  const double factor = context.attribute<float>("scale", 1);
  map_real(context, [=](double x) { return factor * x; });
}

void scaled_tanh(ReferenceContext& context) {
  const double alpha = required(context, "alpha"), beta = required(context, "beta");
  map_real(context, [=](double x) { return alpha * std::tanh(beta * x); });
}

// alpha * log(1 + exp(beta * x)), written so that large arguments do not overflow.
void parametric_softplus(ReferenceContext& context) {
  const double alpha = required(context, "alpha"), beta = required(context, "beta");
  map_real(context, [=](double x) {
    return alpha * (std::max(beta * x, 0.0) + std::log1p(std::exp(-std::abs(beta * x))));
  });
}

}  // namespace

void register_legacy_pointwise(OpRegistry& registry) {
  add_unary_real(registry, "Affine", {{"alpha", "FLOAT"}, {"beta", "FLOAT"}}, kNoNarrowFloats, affine);
  add_unary_real(registry, "Scale", {{"scale", "FLOAT"}}, kNoNarrowFloats, scale);
  add_unary_real(registry, "ScaledTanh", {{"alpha", "FLOAT"}, {"beta", "FLOAT"}}, kNoNarrowFloats,
                 scaled_tanh, 1);
  add_unary_real(registry, "ParametricSoftplus", {{"alpha", "FLOAT"}, {"beta", "FLOAT"}}, kNoNarrowFloats,
                 parametric_softplus, 1);
}

}  // namespace vernier::ops

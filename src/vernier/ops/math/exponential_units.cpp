// Elu, Selu, Celu: linear above zero, an exponential below. The defaults of Selu gained digits in opset 6.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/unary_real.h"

namespace vernier::ops {

namespace {

void elu(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  map_real(context, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

void selu(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha"),
               gamma = real_attribute(context.node(), "gamma");
  map_real(context, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
}

void celu(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  map_real(context, [=](double x) { return x > 0 ? x : alpha * std::expm1(x / alpha); });
}

}  // namespace

void register_exponential_units(OpRegistry& registry) {
  add_unary_real(registry, "Elu", {{"alpha", "FLOAT"}, {"consumed_inputs", "INTS"}}, {22, 1}, elu, 1);
  add_unary_real(registry, "Selu", {{"alpha", "FLOAT"}, {"gamma", "FLOAT"}, {"consumed_inputs", "INTS"}},
                 {22, 1}, selu, 1);
  add_unary_real(registry, "Celu", {{"alpha", "FLOAT"}}, kNoNarrowFloats, celu, 1);
}

}  // namespace vernier::ops

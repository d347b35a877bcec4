// AveragePool and LpPool. The divisor of an average counts the taps inside the input, and with
// count_include_pad (from opset 7) those in the padding, too; what ceil_mode adds beyond the padding never
// counts. LpPool takes padding as zeros; its p was a float before opset 2.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/nn/pool.h"

namespace vernier::ops {

namespace {

void average(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const auto x = context.reals(0);
  context.store(0, average_windows(x.data(), dims, pool_axes(context.node(), dims),
                                   integer_attribute(context.node(), "count_include_pad") != 0));
}

void lp(ReferenceContext& context) {
  const Dims& dims = context.dims(0);
  const auto x = context.reals(0);
  const double p = context.version() == 1 ? context.attribute<float>("p", 2)
                                          : static_cast<double>(context.attribute<int64_t>("p", 2));
  context.store(0, pool_windows(
                       x.data(), dims, pool_axes(context.node(), dims),
                       [p](double value) { return p == 2 ? value * value : std::pow(std::abs(value), p); },
                       [p](double sum, int64_t) { return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p); }));
}

}  // namespace

void register_average_pool(OpRegistry& registry) {
  registry.add({.op = "AveragePool",
                .operands = {Role::kData},
                .attributes = pool_attributes({{"count_include_pad", "INT"}}),
                .traits = kReduction | kAddsUp,
                .precision = PrecisionClass::kComputedWide,
                .since = {22, 1},
                .infer = infer_pool,
                .reference = average});
  registry.add({.op = "LpPool",
                .operands = {Role::kData},
                .attributes = pool_attributes({{"p", "INT"}}),
                .traits = kReduction | kAddsUp,
                .precision = PrecisionClass::kNeverLower,
                .since = {22, 1},
                .infer = infer_pool,
                .reference = lp});
}

}  // namespace vernier::ops

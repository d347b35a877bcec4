// com.microsoft Gelu, BiasGelu (of a sum), FastGelu (by tanh, of a sum if there is a bias), QuickGelu (x *
// sigmoid(alpha x)), BiasSplitGelu (left half times gelu of the right half of a sum), BiasAdd (x + bias +
// skip), ScaledSiLU (of a multiple), GatedAdd (x + y * gate, one gate for each row).
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/nn/activations.h"
#include "vernier/ops/support/nn/fused_epilogue.h"

namespace vernier::ops {

namespace {

// Input 0 plus the optional input 1, a vector along the last axis.
std::vector<double> biased(const ReferenceContext& context) {
  const auto x = context.reals(0);
  std::vector<double> sum(x.span().begin(), x.span().end());
  add_bias(context, 1, context.dims(0), sum);
  return sum;
}

template <double (*Function)(double)>
void activate_sum(ReferenceContext& context) {
  auto values = biased(context);
  for (double& value : values) value = Function(value);
  context.store(0, context.dims(0), values);
}

void quick_gelu(ReferenceContext& context) {
  const double alpha = real_attribute(context.node(), "alpha");
  const auto x = context.reals(0);
  std::vector<double> y(x.span().begin(), x.span().end());
  for (double& value : y) value *= sigmoid(alpha * value);
  context.store(0, context.dims(0), y);
}

void infer_split(InferContext& context) {
  auto shape = context.shape(0);
  if (shape) {
    if (shape->empty() || (shape->back().is_constant() && *shape->back().constant() % 2 != 0)) {
      throw bad_input("{} cannot be split in two", shape_text(*shape));
    }
    shape->back() = floordiv(shape->back(), 2);
  }
  context.set_output(0, context.element(0), std::move(shape));
}

void split_gelu(ReferenceContext& context) {
  const auto sum = biased(context);
  const auto half = static_cast<size_t>(context.dims(0).back() / 2);
  std::vector<double> y(sum.size() / 2);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t left = i / half * 2 * half + i % half;
    y[i] = sum[left] * gelu_exact(sum[left + half]);
  }
  context.store(0, y);
}

void bias_add(ReferenceContext& context) {
  auto sum = biased(context);
  add_bias(context, 2, context.dims(0), sum);
  context.store(0, context.dims(0), sum);
}

void scaled_silu(ReferenceContext& context) {
  const double scale = context.real(1, context.attribute<float>("alpha", 1));
  auto values = context.in(0).to_doubles();
  for (double& value : values) value = silu(scale * value);
  context.store(0, context.dims(0), values);
}

void gated_add(ReferenceContext& context) {
  auto values = context.in(0).to_doubles();
  const auto y = context.reals(1), gate = context.reals(2);
  const int64_t columns = context.dims(0).empty() ? 1 : context.dims(0).back();
  if (context.dims(1) != context.dims(0) || gate.size() * columns != y.size())
    throw bad_input("{} gates for sums of {} and {}", gate.size(), dims_text(context.dims(0)),
                    dims_text(context.dims(1)));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    values[i] += y[at] * gate[at / columns];
  }
  context.store(0, context.dims(0), values);
}

void add(OpRegistry& registry, const char* op, std::vector<Role> operands, int optional_inputs,
         double cancels_until, void (*reference)(ReferenceContext&),
         std::vector<AttributeSpec> attributes = {}, void (*infer)(InferContext&) = infer_same_as_input) {
  registry.add({.domain = "com.microsoft",
                .op = op,
                .operands = std::move(operands),
                .optional_inputs = optional_inputs,
                .attributes = std::move(attributes),
                .traits = kPointwise | (cancels_until > 0 ? kFunction : kFewRoundings),
                .cancels_until = cancels_until,
                .infer = infer,
                .reference = reference});
}

}  // namespace

void register_gelu_family(OpRegistry& registry) {
  constexpr Role kData = Role::kData, kBias = Role::kBias;
  add(registry, "Gelu", {kData}, 0, HUGE_VAL, activate_sum<gelu_exact>);
  add(registry, "BiasGelu", {kData, kBias}, 0, HUGE_VAL, activate_sum<gelu_exact>);
  add(registry, "FastGelu", {kData, kBias}, 1, HUGE_VAL, activate_sum<gelu_tanh>);
  add(registry, "QuickGelu", {kData}, 0, HUGE_VAL, quick_gelu, {{"alpha", "FLOAT"}});
  add(registry, "BiasSplitGelu", {kData, kBias}, 0, HUGE_VAL, split_gelu, {}, infer_split);
  add(registry, "BiasAdd", {kData, kBias, kData}, 0, 0, bias_add);
  add(registry, "ScaledSiLU", {kData, Role::kSetting}, 1, HUGE_VAL, scaled_silu, {{"alpha", "FLOAT"}});
  add(registry, "GatedAdd", {kData, kData, kData}, 0, 0, gated_add);
}

}  // namespace vernier::ops

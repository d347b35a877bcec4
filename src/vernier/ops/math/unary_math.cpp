// Pointwise functions of one real argument, one row each.
#include "vernier/ops/op_def.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/ops/support/follow.h"
#include "vernier/ops/support/math/pointwise.h"
#include "vernier/ops/support/nn/sigmoid.h"

namespace vernier::ops {

namespace {

template <auto Function>
void reference_unary_math(ReferenceContext& context) {
  map_real(context, [](double x) { return Function(x); });
}

double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
double softsign(double x) {
  return x / (1 + std::abs(x));
}
double mish(double x) {
  return x * std::tanh(softplus(x));
}
double reciprocal(double x) {
  return 1 / x;
}
double hard_swish(double x) {
  return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
}
double round_half_even(double x) {
  return std::nearbyint(x);
}

void infer_unary_math(InferContext& context) {
  context.set_type(0, context.type(0));
}

// Rounding leaves integers as they are.
void infer_rounding(InferContext& context) {
  infer_unary_math(context);
  follow_unary(context, [](const Dim& x) { return x; });
}

struct Row {
  const char* op;
  void (*reference)(ReferenceContext&);
  PrecisionClass precision;
  void (*infer)(InferContext&);
  uint32_t traits = kPointwise;
};

constexpr auto kFollow = PrecisionClass::kFollow;
constexpr auto kWide = PrecisionClass::kNeverLower;

template <double (*Function)(double)>
constexpr Row row(const char* op, PrecisionClass precision) {
  return {op, &reference_unary_math<Function>, precision, &infer_unary_math};
}

template <double (*Function)(double)>
constexpr Row rounding(const char* op) {
  return {op, &reference_unary_math<Function>, kFollow, &infer_rounding,
          kPointwise | kRoundsNothing | kSteps};
}

constexpr Row kRows[] = {
    row<std::acos>("Acos", kWide),         row<std::acosh>("Acosh", kWide),
    row<std::asin>("Asin", kWide),         row<std::asinh>("Asinh", kWide),
    row<std::atan>("Atan", kWide),         row<std::atanh>("Atanh", kWide),
    rounding<std::ceil>("Ceil"),           row<std::cos>("Cos", kWide),
    row<std::cosh>("Cosh", kWide),         row<std::erf>("Erf", kFollow),
    row<std::exp>("Exp", kWide),           rounding<std::floor>("Floor"),
    row<std::log>("Log", kWide),           row<std::sin>("Sin", kWide),
    row<std::sinh>("Sinh", kWide),         row<std::sqrt>("Sqrt", kFollow),
    row<std::tan>("Tan", kWide),           row<std::tanh>("Tanh", kFollow),
    row<sigmoid>("Sigmoid", kFollow),      row<softplus>("Softplus", kFollow),
    row<softsign>("Softsign", kFollow),    row<mish>("Mish", kFollow),
    row<hard_swish>("HardSwish", kFollow), row<reciprocal>("Reciprocal", kWide),
    rounding<round_half_even>("Round"),
};

}  // namespace

void register_unary_math(OpRegistry& registry) {
  for (const Row& row : kRows) {
    registry.add({.op = row.op,
                  .min_inputs = 1,
                  .max_inputs = 1,
                  .attributes = {{"consumed_inputs", "INTS"}},
                  .traits = row.traits,
                  .precision = row.precision,
                  .infer = row.infer,
                  .reference = row.reference});
  }
}

}  // namespace vernier::ops

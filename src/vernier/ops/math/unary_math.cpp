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
  TypesSince since;
  double cancels_until;
  uint32_t traits;
  void (*infer)(InferContext&) = &infer_unary_math;
  Role operand = Role::kData;
};

constexpr auto kFollow = PrecisionClass::kByTraits;
constexpr auto kWide = PrecisionClass::kNeverLower;

template <double (*Function)(double)>
constexpr Row row(const char* op, PrecisionClass precision, TypesSince since, double cancels_until = 0,
                  uint32_t traits = kFunction) {
  return {op, &reference_unary_math<Function>, precision, since, cancels_until, kPointwise | traits};
}

template <double (*Function)(double)>
constexpr Row rounding(const char* op, TypesSince since) {
  return {op, &reference_unary_math<Function>,      kFollow,        since,
          0,  kPointwise | kRoundsNothing | kSteps, &infer_rounding};
}

constexpr Row kRows[] = {
    row<std::acos>("Acos", kWide, {22, 7}),
    row<std::acosh>("Acosh", kWide, {22, 9}),
    row<std::asin>("Asin", kWide, {22, 7}),
    row<std::asinh>("Asinh", kWide, {22, 9}, HUGE_VAL),
    row<std::atan>("Atan", kWide, {22, 7}),
    row<std::atanh>("Atanh", kWide, {22, 9}, 1),
    rounding<std::ceil>("Ceil", {13, 1}),
    row<std::cos>("Cos", kWide, {22, 7}),
    row<std::cosh>("Cosh", kWide, {22, 9}),
    row<std::erf>("Erf", kFollow, {13, 9}, 1),
    row<std::exp>("Exp", kWide, {13, 1}),
    rounding<std::floor>("Floor", {13, 1}),
    row<std::log>("Log", kWide, {13, 1}, 1),
    row<std::sin>("Sin", kWide, {22, 7}),
    row<std::sinh>("Sinh", kWide, {22, 9}),
    row<std::sqrt>("Sqrt", kFollow, {13, 1}),
    row<std::tan>("Tan", kWide, {22, 7}),
    row<std::tanh>("Tanh", kFollow, {13, 1}, 1),
    row<sigmoid>("Sigmoid", kFollow, {13, 1}, 1),
    row<softplus>("Softplus", kFollow, {22, 1}, 1),
    row<softsign>("Softsign", kFollow, {22, 1}, 0, kFewRoundings),
    row<mish>("Mish", kFollow, {22, 18}, HUGE_VAL),
    row<hard_swish>("HardSwish", kFollow, {22, 14}, 3),
    Row{"Reciprocal",
        &reference_unary_math<reciprocal>,
        kWide,
        {13, 1},
        0,
        kPointwise | kFunction,
        &infer_unary_math,
        Role::kDivisor},
    rounding<round_half_even>("Round", {22, 11}),
};

}  // namespace

void register_unary_math(OpRegistry& registry) {
  for (const Row& row : kRows) {
    registry.add({.op = row.op,
                  .operands = {row.operand},
                  .attributes = {{"consumed_inputs", "INTS"}},
                  .traits = row.traits,
                  .precision = row.precision,
                  .since = row.since,
                  .cancels_until = row.cancels_until,
                  .infer = row.infer,
                  .reference = row.reference});
  }
}

}  // namespace vernier::ops

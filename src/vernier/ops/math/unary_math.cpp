// Pointwise functions of one real argument, one row each.
#include "vernier/ops/support/pointwise.h"
#include "vernier/ops/op_def.h"

namespace vernier::ops {

namespace {

template <auto Function>
void reference(ReferenceContext& context) {
  map_real(context, [](double x) { return Function(x); });
}

double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
double softsign(double x) { return x / (1 + std::abs(x)); }
double mish(double x) { return x * std::tanh(softplus(x)); }
double reciprocal(double x) { return 1 / x; }
double hard_swish(double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }
double round_half_even(double x) { return std::nearbyint(x); }

struct Row {
  const char* op;
  void (*reference)(ReferenceContext&);
  PrecisionClass precision;
};

constexpr auto kFollow = PrecisionClass::kFollow;
constexpr auto kWide = PrecisionClass::kNeverLower;

template <double (*Function)(double)>
constexpr Row row(const char* op, PrecisionClass precision) {
  return {op, &reference<Function>, precision};
}

constexpr Row kRows[] = {
    row<std::acos>("Acos", kWide),       row<std::acosh>("Acosh", kWide),     row<std::asin>("Asin", kWide),
    row<std::asinh>("Asinh", kWide),     row<std::atan>("Atan", kWide),       row<std::atanh>("Atanh", kWide),
    row<std::ceil>("Ceil", kFollow),     row<std::cos>("Cos", kWide),         row<std::cosh>("Cosh", kWide),
    row<std::erf>("Erf", kFollow),       row<std::exp>("Exp", kWide),         row<std::floor>("Floor", kFollow),
    row<std::log>("Log", kWide),         row<std::sin>("Sin", kWide),         row<std::sinh>("Sinh", kWide),
    row<std::sqrt>("Sqrt", kFollow),     row<std::tan>("Tan", kWide),         row<std::tanh>("Tanh", kFollow),
    row<sigmoid>("Sigmoid", kFollow),    row<softplus>("Softplus", kFollow),  row<softsign>("Softsign", kFollow),
    row<mish>("Mish", kFollow),          row<hard_swish>("HardSwish", kFollow), row<reciprocal>("Reciprocal", kWide),
    row<round_half_even>("Round", kFollow),
};

}  // namespace

void register_unary_math(OpRegistry& registry) {
  for (const Row& row : kRows) {
    registry.add({.op = row.op, .min_inputs = 1, .max_inputs = 1, .attributes = {{"consumed_inputs", "INTS"}}, .traits = kPointwise,
                  .precision = row.precision, .infer = infer_same_as_input, .reference = row.reference});
  }
}

}  // namespace vernier::ops

// Functions that are rare, or of f64: one element after the other, in double, as the reference computes them.
#include "vernier/backends/cpu/pointwise/loop.h"
#include "vernier/ops/support/nn/activations.h"

namespace vernier::cpu {

namespace {

template <class T, auto F>
void unary(const LoopArguments& x) {
  const auto* a = static_cast<const T*>(x.a);
  auto* to = static_cast<T*>(x.to);
  for (int64_t i = 0; i < x.count; ++i) to[i] = static_cast<T>(F(static_cast<double>(a[i]), x));
}

template <class T, auto F>
void binary(const LoopArguments& x) {
  const auto *a = static_cast<const T*>(x.a), *b = static_cast<const T*>(x.b);
  auto* to = static_cast<T*>(x.to);
  for (int64_t i = 0; i < x.count; ++i)
    to[i] = static_cast<T>(F(static_cast<double>(a[i]), static_cast<double>(b[i])));
}

template <double (*F)(double)>
double plain(double x, const LoopArguments&) {
  return F(x);
}

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
double mish(double x) {
  return x * std::tanh(softplus(x));
}
double elu(double x, const LoopArguments& attributes) {
  return x < 0 ? attributes.alpha * std::expm1(x) : x;
}
double selu(double x, const LoopArguments& attributes) {
  return attributes.beta * (x > 0 ? x : attributes.alpha * std::expm1(x));
}
double celu(double x, const LoopArguments& attributes) {
  return x > 0 ? x : attributes.alpha * std::expm1(x / attributes.alpha);
}
double swish(double x, const LoopArguments& attributes) {
  return x * ops::sigmoid(attributes.alpha * x);
}
double floored_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) return rest + b;
  return rest == 0 ? std::copysign(rest, b) : rest;
}

struct NamedLoop {
  std::string_view op;
  Loop of_float, of_double;
};

template <double (*F)(double)>
constexpr NamedLoop row(std::string_view op) {
  return {op, unary<float, plain<F>>, unary<double, plain<F>>};
}
template <double (*F)(double, const LoopArguments&)>
constexpr NamedLoop row_with_attributes(std::string_view op) {
  return {op, unary<float, F>, unary<double, F>};
}
template <double (*F)(double, double)>
constexpr NamedLoop binary_row(std::string_view op) {
  return {op, binary<float, F>, binary<double, F>};
}

constexpr NamedLoop kLoops[] = {
    row<std::acos>("Acos"),
    row<std::acosh>("Acosh"),
    row<std::asin>("Asin"),
    row<std::asinh>("Asinh"),
    row<std::atan>("Atan"),
    row<std::atanh>("Atanh"),
    row<std::cos>("Cos"),
    row<std::cosh>("Cosh"),
    row<std::erf>("Erf"),
    row<std::exp>("Exp"),
    row<std::log>("Log"),
    row<std::sin>("Sin"),
    row<std::sinh>("Sinh"),
    row<std::tan>("Tan"),
    row<std::tanh>("Tanh"),
    row<ops::sigmoid>("Sigmoid"),
    row<softplus>("Softplus"),
    row<mish>("Mish"),
    row<ops::gelu_exact>("Gelu"),
    row<ops::gelu_tanh>("GeluTanh"),
    row_with_attributes<elu>("Elu"),
    row_with_attributes<selu>("Selu"),
    row_with_attributes<celu>("Celu"),
    row_with_attributes<swish>("Swish"),
    binary_row<std::pow>("Pow"),
    binary_row<std::fmod>("Fmod"),
    binary_row<floored_modulo>("Mod"),
};

}  // namespace

Loop libm_loop(std::string_view op, ElementType type) {
  for (const NamedLoop& each : kLoops) {
    if (each.op != op) continue;
    if (type == ElementType::kFloat) return each.of_float;
    return type == ElementType::kDouble ? each.of_double : nullptr;
  }
  return nullptr;
}

}  // namespace vernier::cpu

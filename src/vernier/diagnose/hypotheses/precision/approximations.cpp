// B11, B31: a function is replaced by a cheaper one that is near it in a part of its range.
#include <bit>
#include <cmath>
#include <numbers>

#include "vernier/diagnose/hypotheses/precision/narrow_format.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

using Function = double (*)(double);

struct Approximation {
  const char* op;
  int failure;
  const char* what;  // "it is computed ..."
  Function function;
};

double tanh_gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double sigmoid_gelu(double x) {
  return x / (1 + std::exp(-1.702 * x));
}

// tanh_gelu is made of this.
double tanh_erf(double t) {
  const double x = t * std::numbers::sqrt2;
  return std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x));
}

// Schraudolph's: the bits of a float are taken for its logarithm.
double exp_by_bits(double x) {
  const double bits = (x * std::numbers::log2e + 127) * 0x1p23 - 366393;
  if (bits < 0) return 0;
  if (bits >= 0x1p31) return HUGE_VAL;
  return static_cast<double>(std::bit_cast<float>(static_cast<int32_t>(bits)));
}

double exp_by_powers(double x, int squarings) {
  double power = 1 + std::ldexp(x, -squarings);
  for (int i = 0; i < squarings; ++i) power *= power;
  return power;
}

// Range reduction by powers of two, and the Taylor series of what is left.
double exp_by_series(double x, int degree) {
  const double whole = std::nearbyint(x * std::numbers::log2e), rest = x - whole * std::numbers::ln2;
  double sum = 1, term = 1;
  for (int i = 1; i <= degree; ++i) sum += term *= rest / i;
  return std::ldexp(sum, static_cast<int>(std::clamp(whole, -2000.0, 2000.0)));
}

// The angle less whole turns, in floats: what is left of a large angle has the error of a float pi, many
// times.
double reduced_angle(double x) {
  const auto turn = static_cast<float>(2 * std::numbers::pi);
  const auto angle = static_cast<float>(x);
  const float turns = std::nearbyint(angle / turn), whole = turns * turn;
  return static_cast<double>(angle - whole);
}

double sine_by_series(double x) {
  const double s = x * x;
  return x * (1 + s * (-1.0 / 6 + s * (1.0 / 120 + s * (-1.0 / 5040))));
}

double cosine_by_series(double x) {
  const double s = x * x;
  return 1 + s * (-0.5 + s * (1.0 / 24 + s * (-1.0 / 720)));
}

double hard(double x, double slope) {
  return std::clamp(slope * x + 0.5, 0.0, 1.0);
}

double rational_tanh(double x) {
  return std::clamp(x * (27 + x * x) / (27 + 9 * x * x), -1.0, 1.0);
}

// The trick with the bits of a float, and `steps` of Newton's.
double root_by_bits(double x, int steps) {
  const auto value = static_cast<float>(x);
  double y = static_cast<double>(std::bit_cast<float>(0x5F3759DF - (std::bit_cast<int32_t>(value) >> 1)));
  for (int i = 0; i < steps; ++i) y *= 1.5 - 0.5 * x * y * y;
  return y;
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

const Approximation kApproximations[] = {
    {"Gelu", 31, "with tanh in the place of erf", tanh_gelu},
    {"Gelu", 31, "as x times the sigmoid of 1.702 x", sigmoid_gelu},
    {"Erf", 31, "by the tanh of GELU's approximation", tanh_erf},
    {"Sin", 11, "of an angle that is reduced in floats", [](double x) { return std::sin(reduced_angle(x)); }},
    {"Cos", 11, "of an angle that is reduced in floats", [](double x) { return std::cos(reduced_angle(x)); }},
    {"Sin", 11, "by a series without range reduction", sine_by_series},
    {"Cos", 11, "by a series without range reduction", cosine_by_series},
    {"Sigmoid", 31, "as 0.2 x + 0.5, bounded", [](double x) { return hard(x, 0.2); }},
    {"Sigmoid", 31, "as x/6 + 0.5, bounded", [](double x) { return hard(x, 1.0 / 6); }},
    {"Sigmoid", 31, "as x/4 + 0.5, bounded", [](double x) { return hard(x, 0.25); }},
    {"Sigmoid", 31, "by a rational function", [](double x) { return 0.5 + 0.5 * rational_tanh(x / 2); }},
    {"Tanh", 31, "by a rational function", rational_tanh},
    {"Tanh", 31, "as x between -1 and 1", [](double x) { return std::clamp(x, -1.0, 1.0); }},
    {"Softplus", 31, "as max(x, 0)", [](double x) { return std::max(x, 0.0); }},
    {"Swish", 31, "as HardSwish", [](double x) { return x * hard(x, 1.0 / 6); }},
    {"Mish", 31, "as Swish", [](double x) { return x * sigmoid(x); }},
    {"Reciprocal", 31, "to 12 binary digits",
     [](double x) {
       return std::copysign(NarrowFormat{"", 12, -126, 0x1p127}.round(1 / x), x);
     }},
    {"Sqrt", 31, "on the bits of a float", [](double x) { return x > 0 ? x * root_by_bits(x, 0) : 0; }},
    {"Sqrt", 31, "on the bits of a float and one step of Newton's",
     [](double x) { return x > 0 ? x * root_by_bits(x, 1) : 0; }},
};

struct Exponential {
  const char* what;
  Function function;
};

const Exponential kExponentials[] = {
    {"on the bits of a float", exp_by_bits},
    {"as the 256th power of 1 + x/256", [](double x) { return exp_by_powers(x, 8); }},
    {"as the 1024th power of 1 + x/1024", [](double x) { return exp_by_powers(x, 10); }},
    {"as the 4096th power of 1 + x/4096", [](double x) { return exp_by_powers(x, 12); }},
    {"by a polynomial of degree 2", [](double x) { return exp_by_series(x, 2); }},
    {"by a polynomial of degree 3", [](double x) { return exp_by_series(x, 3); }},
    {"by a polynomial of degree 4", [](double x) { return exp_by_series(x, 4); }},
    {"in base 2 without its factor", [](double x) { return std::exp2(x); }},
};

// Computes what is made of exponentials, by whatever function they are computed.
struct OfExponentials {
  const char* op;
  int failure;
  double (*of)(Function exp, double x);
};

const OfExponentials kOfExponentials[] = {
    {"Exp", 11, [](Function exp, double x) { return exp(x); }},
    {"Sigmoid", 31, [](Function exp, double x) { return 1 / (1 + exp(-x)); }},
    {"Swish", 31, [](Function exp, double x) { return x / (1 + exp(-x)); }},
    {"Tanh", 31, [](Function exp, double x) { return 1 - 2 / (exp(2 * x) + 1); }},
    {"Softplus", 31, [](Function exp, double x) { return std::log(1 + exp(x)); }},
    {"Elu", 31, [](Function exp, double x) { return x > 0 ? x : exp(x) - 1; }},
};

void propose_exponentials(const Member& member, std::vector<Proposal>& proposals) {
  for (const OfExponentials& made : kOfExponentials) {
    if (!member.is(made.op)) continue;
    for (const Exponential& exponential : kExponentials)
      proposals.push_back(
          {FailureClass(made.failure), fmt::format("it is computed with exponentials {}", exponential.what),
           [&member, of = made.of, exp = exponential.function] {
             auto values = member.in(0).to_doubles();
             for (double& value : values) value = of(exp, value);
             return Tensors{Tensor::from_doubles(ElementType::kDouble, member.in(0).dims(), values)};
           }});
  }
}

// Along the axis of a Softmax, of what is left when the largest is taken away.
void propose_softmax(const Member& member, std::vector<Proposal>& proposals) {
  if (!member.is("Softmax") || member.node().version < 13) return;
  const int64_t given = ops::integer_attribute(member.node(), "axis"), rank = member.in(0).rank();
  const auto axis = static_cast<size_t>(given < 0 ? given + rank : given);
  for (const Exponential& exponential : kExponentials)
    proposals.push_back({FailureClass(11),
                         fmt::format("it is computed with exponentials {}", exponential.what),
                         [&member, axis, exp = exponential.function] {
                           const Dims& dims = member.in(0).dims();
                           size_t inner = 1;
                           for (size_t i = axis + 1; i < dims.size(); ++i)
                             inner *= static_cast<size_t>(dims[i]);
                           auto values = member.in(0).to_doubles();
                           const auto length = static_cast<size_t>(dims.at(axis));
                           for (size_t row = 0; length > 0 && row < values.size() / length; ++row) {
                             const size_t first = row / inner * length * inner + row % inner;
                             double largest = -HUGE_VAL, sum = 0;
                             for (size_t i = 0; i < length; ++i)
                               largest = std::max(largest, values[first + i * inner]);
                             for (size_t i = 0; i < length; ++i)
                               sum += values[first + i * inner] = exp(values[first + i * inner] - largest);
                             for (size_t i = 0; i < length; ++i) values[first + i * inner] /= sum;
                           }
                           return Tensors{Tensor::from_doubles(ElementType::kDouble, dims, values)};
                         }});
}

}  // namespace

void propose_approximations(const Member& member, const FlaggedNode&, const HypothesisContext&,
                            std::vector<Proposal>& proposals) {
  if (!member.has(0) || !is_real(member.in(0))) return;
  propose_exponentials(member, proposals);
  propose_softmax(member, proposals);
  for (const Approximation& each : kApproximations) {
    if (!member.is(each.op)) continue;
    proposals.push_back({FailureClass(each.failure), fmt::format("it is computed {}", each.what),
                         [&member, function = each.function] {
                           auto values = member.in(0).to_doubles();
                           for (double& value : values) value = function(value);
                           return Tensors{
                               Tensor::from_doubles(ElementType::kDouble, member.in(0).dims(), values)};
                         }});
  }
}

}  // namespace vernier

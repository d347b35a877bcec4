// B31: another operator of the same kind is computed, or with another number for an attribute: a wrong entry
// of a table of kernels, or one that a kernel has built in.
#include <algorithm>
#include <cmath>
#include <utility>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

struct Function {
  const char* op;
  double (*of)(double);
};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double normal_share(double x) {
  return 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}

constexpr Function kFunctions[] = {
    {"Abs", [](double x) { return std::abs(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Elu", [](double x) { return x > 0 ? x : std::expm1(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Gelu", [](double x) { return x * normal_share(x); }},
    {"LeakyRelu", [](double x) { return x > 0 ? x : 0.01 * x; }},
    {"Log", [](double x) { return std::log(x); }},
    {"Mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"Neg", [](double x) { return -x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Relu", [](double x) { return std::max(x, 0.0); }},
    {"Sigmoid", sigmoid},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Softplus", [](double x) { return std::log1p(std::exp(x)); }},
    {"Softsign", [](double x) { return x / (1 + std::abs(x)); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Swish", [](double x) { return x * sigmoid(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    // They come near to others of these.
    {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
    {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
};

// Functions that are computed in the place of one of these, but are no operators, or have other attributes.
constexpr Function kOtherFunctions[] = {
    {"an exponential to the base 2", [](double x) { return std::exp2(x); }},
    {"exp(x) - 1", [](double x) { return std::expm1(x); }},
    {"the logarithm to the base 2", [](double x) { return std::log2(x); }},
    {"the logarithm to the base 10", [](double x) { return std::log10(x); }},
    {"log(1 + x)", [](double x) { return std::log1p(x); }},
    {"the inverse of the root", [](double x) { return 1 / std::sqrt(x); }},
    {"the square", [](double x) { return x * x; }},
    {"Atan", [](double x) { return std::atan(x); }},
    {"Asinh", [](double x) { return std::asinh(x); }},
    {"Sinh", [](double x) { return std::sinh(x); }},
    {"Cosh", [](double x) { return std::cosh(x); }},
    {"Tan", [](double x) { return std::tan(x); }},
    {"the sine of degrees", [](double x) { return std::sin(x * 0.017453292519943295); }},
    {"the cosine of degrees", [](double x) { return std::cos(x * 0.017453292519943295); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"cutting off toward zero", [](double x) { return std::trunc(x); }},
    {"Sign", [](double x) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : 0.0; }},
    {"a step from 0 to 1", [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"-Abs", [](double x) { return -std::abs(x); }},
    {"1 - Erf", [](double x) { return std::erfc(x); }},
    {"Clip to -1 and 1", [](double x) { return std::clamp(x, -1.0, 1.0); }},
    {"HardSigmoid with 1/6", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"HardSwish with 0.2", [](double x) { return x * std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
    {"Gelu by Sigmoid(1.702 x)", [](double x) { return x * sigmoid(1.702 * x); }},
    {"Gelu by Tanh",
     [](double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }},
    {"Tanh(1.2 x)", [](double x) { return std::tanh(1.2 * x); }},
    {"Selu", [](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); }},
    {"Softplus of 2 x, halved", [](double x) { return std::log1p(std::exp(2 * x)) / 2; }},
};

// Operators that compute one number of another, by a fixed function or one of their attributes.
const std::vector<const char*> kComputing = {"Acos",   "Acosh", "Asin", "Asinh", "Atan",           "Atanh",
                                             "Ceil",   "Celu",  "Cosh", "Floor", "Round",          "Selu",
                                             "Shrink", "Sign",  "Sinh", "Tan",   "ThresholdedRelu"};

// Each reads what the others read, and attributes of others are not missed.
const std::vector<std::vector<const char*>> kKinds = {
    {"Add", "Sub", "Mul", "Div", "Max", "Min"},
    {"Sum", "Mean", "Max", "Min"},
    {"Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"},
    {"MaxPool", "AveragePool"},
    {"GlobalMaxPool", "GlobalAveragePool"},
    {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
     "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"},
    {"ArgMax", "ArgMin"},
    {"And", "Or", "Xor"},
    {"Softmax", "LogSoftmax"},
    {"Elu", "Celu", "Selu", "LeakyRelu", "ThresholdedRelu"},
};

bool is_one_of(const Member& member, const std::vector<const char*>& operators) {
  return std::any_of(operators.begin(), operators.end(), [&](const char* op) { return member.is(op); });
}

// Attributes of windows that not every operator has.
void become(Node& node, const std::string& op) {
  if (node.op == "MaxPool") node.attributes.erase("storage_order");
  if (node.op == "AveragePool") node.attributes.erase("count_include_pad");
  node.op = op;
}

void propose_other_operators(const Variations& variations) {
  const Member& member = variations.member();
  const bool is_function = (member.is("PRelu") || is_one_of(member, kComputing) ||
                            std::any_of(std::begin(kFunctions), std::end(kFunctions),
                                        [&](const Function& function) { return member.is(function.op); })) &&
                           member.has(0) && is_float(member.in(0).type());
  const auto add = [&](const Function& function) {
    if (is_function && !member.is(function.op))
      variations.add(fmt::format("{} is computed in its place", function.op),
                     [&member, of = function.of] { return Tensors{mapped(member.in(0), of)}; });
  };
  for (const Function& function : kFunctions) add(function);
  for (const Function& function : kOtherFunctions) add(function);
  for (const auto& kind : kKinds) {
    if (!is_one_of(member, kind)) continue;
    for (const std::string op : kind) {
      if (!member.is(op.c_str()))
        variations.add_node(fmt::format("{} is computed in its place", op),
                            [op](Node& node) { become(node, op); });
    }
  }
}

// A Softmax against the largest element of each row where it should be against the sum: the difference of
// logarithms, or the quotient.
Tensor against_largest(const Member& member) {
  const Tensor& right = member.out();
  const Dims& dims = right.dims();
  const size_t axis = axis_of(ops::softmax_axis(member.node()), right);
  int64_t inner = 1, length = dims[axis];
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  if (ops::softmax_flattens(member.node())) length *= std::exchange(inner, 1);
  auto values = right.to_doubles();
  const auto row_of = [inner, length](size_t element) {
    const auto place = static_cast<int64_t>(element);
    return static_cast<size_t>(place / (inner * length) * inner + place % inner);
  };
  std::vector<double> largest(values.size() / static_cast<size_t>(std::max<int64_t>(1, length)), -HUGE_VAL);
  for (size_t i = 0; i < values.size(); ++i) {
    double& most = largest[row_of(i)];
    most = std::max(most, values[i]);
  }
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = member.is("LogSoftmax") ? values[i] - largest[row_of(i)] : values[i] / largest[row_of(i)];
  return Tensor::from_doubles(right.type(), dims, values);
}

// A Softmax whose rows do not add up to one, since what they are divided by is another sum, or none.
void propose_other_sums(const Variations& variations) {
  const Member& member = variations.member();
  const bool logarithm = member.is("LogSoftmax");
  const auto add = [&](const char* what, const std::function<Tensor()>& simulate) {
    variations.add(what, [simulate] { return Tensors{simulate()}; });
  };
  add("Sigmoid is computed in its place", [&member] { return mapped(member.in(0), sigmoid); });
  if (!logarithm)
    add("exponentials are not divided by their sum",
        [&member] { return mapped(member.in(0), [](double x) { return std::exp(x); }); });
  add(logarithm ? "the logarithm of the sum is not taken off, but only the largest element"
                : "exponentials are divided by the largest of them",
      [&member] { return against_largest(member); });
  // The sum of the exponentials follows from what the node reads and makes in double.
  const auto with_sum = [&](const char* what, double (*of)(double x, double logarithm_of_sum)) {
    add(what, [&member, of, logarithm] {
      const auto x = member.in(0).to_doubles();
      auto y = member.out().to_doubles();
      for (size_t i = 0; i < y.size(); ++i) {
        const double sum = x[i] - (logarithm ? y[i] : std::log(y[i]));
        y[i] = logarithm ? of(x[i], sum) : std::exp(of(x[i], sum));
      }
      return Tensor::from_doubles(member.out().type(), member.out().dims(), y);
    });
  };
  with_sum("one is added to the sum of exponentials",
           [](double x, double sum) { return x - sum - std::log1p(std::exp(-sum)); });
}

// A result that follows from an attribute in a line says which one was taken.
void propose_fitted_attribute(const Variations& variations, const FlaggedNode& flagged, const char* name) {
  const Member& member = variations.member();
  const Tensor* shown = made_in_place(member, 0, flagged);
  if (shown == nullptr) return;
  const auto with = [&member, name](double value) {
    return member.with_attribute(name, Attribute(static_cast<float>(value)));
  };
  const auto made = shown->to_doubles(), none = with(0).at(0).to_doubles(), one = with(1).at(0).to_doubles();
  const double fitted = place_on_line(made, none, one);
  if (std::isfinite(fitted))
    variations.add(
        fmt::format("its attribute '{}' is taken for {:.4g}", name, fitted),
        [with, fitted] { return with(fitted); }, kFittedNumber);
}

// Proposes that negative elements are passed on by another factor than they should be, as by a LeakyRelu in
// place of a Relu.
void propose_slope(const Variations& variations, const FlaggedNode& flagged) {
  const Member& member = variations.member();
  const Tensor* shown = made_in_place(member, 0, flagged);
  if (shown == nullptr) return;
  const auto made = shown->to_doubles(), read = member.in(0).to_doubles();
  double products = 0, squares = 0;
  for (size_t i = 0; i < read.size(); ++i) {
    if (!(read[i] < 0) || !std::isfinite(made[i])) continue;
    products += made[i] * read[i];
    squares += read[i] * read[i];
  }
  const double slope = products / squares;
  if (!std::isfinite(slope)) return;
  variations.add(
      fmt::format("what is negative is multiplied by {:.4g}", slope),
      [&member, slope] {
        return Tensors{mapped(member.in(0), [slope](double x) { return x < 0 ? slope * x : x; })};
      },
      kFittedNumber);
}

}  // namespace

void propose_other_operators(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                             std::vector<Proposal>& proposals) {
  if (!member.node().domain.empty()) return;
  const Variations variations(member, flagged, 31, proposals);
  propose_other_operators(variations);
  if (member.is("Softmax") || member.is("LogSoftmax")) propose_other_sums(variations);
  if (member.is("LeakyRelu") || member.is("Elu")) propose_fitted_attribute(variations, flagged, "alpha");
  if (member.is("Relu") || member.is("PRelu")) propose_slope(variations, flagged);
  if (member.is("Gemm")) {
    for (const char* name : {"alpha", "beta"}) propose_fitted_attribute(variations, flagged, name);
  }
}

}  // namespace vernier

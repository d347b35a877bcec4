// B31: another operator of the same kind is computed, or with another number for an attribute: a wrong entry
// of a table of kernels, or one that a kernel has built in.
#include <algorithm>
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/variations.h"

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
    {"HardSigmoid", [](double x) { return std::clamp(0.2 * x + 0.5, 0.0, 1.0); }},
    {"HardSwish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
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
};

// Each reads what the others read, and attributes of others are not missed.
const std::vector<std::vector<const char*>> kKinds = {
    {"Add", "Sub", "Mul", "Div", "Max", "Min"},
    {"MaxPool", "AveragePool"},
    {"GlobalMaxPool", "GlobalAveragePool"},
    {"ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"},
    {"ArgMax", "ArgMin"},
    {"Greater", "Less"},
    {"GreaterOrEqual", "LessOrEqual"},
    {"And", "Or", "Xor"},
    {"Softmax", "LogSoftmax"},
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
  const bool is_function =
      (member.is("PRelu") || std::any_of(std::begin(kFunctions), std::end(kFunctions),
                                         [&](const Function& function) { return member.is(function.op); })) &&
      member.has(0) && is_float(member.in(0).type());
  for (const Function& function : kFunctions) {
    if (!is_function || member.is(function.op)) continue;
    variations.add(fmt::format("{} is computed in its place", function.op),
                   [&member, of = function.of] { return Tensors{mapped(member.in(0), of)}; });
  }
  for (const auto& kind : kKinds) {
    if (!is_one_of(member, kind)) continue;
    for (const std::string op : kind) {
      if (!member.is(op.c_str()))
        variations.add_node(fmt::format("{} is computed in its place", op),
                            [op](Node& node) { become(node, op); });
    }
  }
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
  if (member.is("LeakyRelu") || member.is("Elu")) propose_fitted_attribute(variations, flagged, "alpha");
  if (member.is("Relu") || member.is("PRelu")) propose_slope(variations, flagged);
  if (member.is("Gemm")) {
    for (const char* name : {"alpha", "beta"}) propose_fitted_attribute(variations, flagged, name);
  }
}

}  // namespace vernier

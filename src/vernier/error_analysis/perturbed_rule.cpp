// Operators of many steps (softmax, normalisations, attention, recurrent ones): backward error analysis.
// Their arithmetic does to the results what small changes of the operands would do: of each element by as
// much as the roundings that it takes part in. The changes are drawn, and how far the results move is
// averaged.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include "vernier/error_analysis/node_rules.h"
#include "vernier/error_analysis/rounding.h"
#include "vernier/numeric/ulp.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"
#include "vernier/tensor/drawn_blocks.h"

namespace vernier {

namespace {

constexpr size_t kDraws = 16;

// How many terms the longest sums have, as far as the sizes tell.
double terms_of(const AnalysedNode& node) {
  double most = 1;
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (!node.has(i)) continue;
    const Dims& dims = node.in[i]->value.dims();
    if (!dims.empty()) most = std::max(most, static_cast<double>(dims.back()));
    if (dims.size() > 1) most = std::max(most, static_cast<double>(dims[dims.size() - 2]));
  }
  // Constants read nothing, and outputs may be left out.
  if (!node.has(0) || node.out[0] == nullptr) return most;
  const auto from = static_cast<double>(node.in[0]->value.size()),
             to = static_cast<double>(std::max<int64_t>(1, node.out[0]->size()));
  return std::max(most, from / to);
}

// Operators that read between elements: where exactly is a number of the size of an axis, and in float that
// is rounded. By how much a result may move then: by the largest step between elements, at that distance.
double of_coordinates(const AnalysedNode& node) {
  if (!ops::has_trait(node.node, ops::kInterpolates) || !node.has(0)) return 0;
  double longest = 1, low = HUGE_VAL, high = -HUGE_VAL;
  for (const Dims& dims : {node.in[0]->value.dims(), node.out[0]->dims()}) {
    for (size_t axis = 2; axis < dims.size(); ++axis)
      longest = std::max(longest, static_cast<double>(dims[axis]));
  }
  for (const double value : node.in[0]->value.to_doubles()) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  return high > low ? unit_roundoff(node.contract.computed) * longest * (high - low) : 0;
}

// The gates of recurrent operators are functions with tails, and formulas of these are off by a rounding of
// one there: so a gate that is nearly shut lets a little of the state through, or nothing. That of a GRU is
// taken from one by everybody.
double of_gates(const AnalysedNode& node, const std::vector<double>& results, bool by_formula) {
  if (!ops::has_trait(node.node, ops::kRecurrent)) return 0;
  if (!by_formula && node.node.op != "GRU") return 0;
  double largest = 1;
  for (const double value : results) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  return unit_roundoff(node.contract.computed) * largest;
}

// The variance of the change of an element, relative to its square.
double relative_variance(const AnalysedNode& node) {
  const NumericsContract& contract = node.contract;
  const double terms = terms_of(node);
  // The rounding of a sum of ones is shared out among its terms.
  const double aligned = ops::has_trait(node.node, ops::kAddsUp) ? std::sqrt(terms) : 0;
  const double of_sums = Accumulation(contract, terms).variance(1, 0, aligned);
  const double of_arithmetic = Accumulation({.computed = contract.computed}, 0).variance(1, 0, 1);
  const double probabilities = operand_variance({.operands = contract.probabilities, .terms = 1});
  const double bias = operand_bias(contract);
  return of_sums + of_arithmetic + operand_variance(contract) + bias * bias + probabilities;
}

// One that moves by its own error, and by that of arithmetic.
Tensor drawn(const ElementErrors& operand, double relative, uint64_t seed) {
  Tensor result = stored_as_doubles(operand.value);
  const auto values = result.mutable_values<double>();
  const double deviation = std::sqrt(relative);
  draw_blocks(values, seed, [&](std::span<double> part, SplitMix64& random) {
    std::normal_distribution<double> normal;
    const auto first = static_cast<size_t>(part.data() - values.data());
    for (size_t i = 0; i < part.size(); ++i)
      part[i] += normal(random) * std::hypot(part[i] * deviation, operand.at(first + i));
  });
  return result;
}

// A mean square of few draws may be small by chance: no element has much less than its neighbours.
std::vector<double> with_neighbours(const std::vector<double>& squares) {
  constexpr size_t kReach = 8;
  constexpr double kShare = 0.25;
  std::vector<double> result(squares.size());
  for_each_element(squares.size(), [&](size_t i) {
    const size_t begin = i < kReach ? 0 : i - kReach, end = std::min(squares.size(), i + kReach + 1);
    double sum = 0;
    for (size_t k = begin; k < end; ++k) sum += squares[k];
    result[i] = std::max(squares[i], kShare * sum / static_cast<double>(end - begin));
  });
  return result;
}

void add_squares(std::vector<double>& squares, const Tensor& from, const Tensor& to) {
  const Doubles a(from), b(to);
  if (a.size() != b.size()) throw internal_error("a result has other sizes when operands move");
  squares.resize(a.size(), 0);
  for_each_element(a.size(), [&](size_t i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    const double square = same ? 0 : (a[i] - b[i]) * (a[i] - b[i]) / kDraws;
    squares[i] += std::isnan(square) ? HUGE_VAL : square;
  });
}

// The mean square that draws of the operand of a sum or a mean would have, if there were very many: its
// elements move independently of each other. Nothing for other operators.
std::optional<std::vector<double>> squares_of_sum(const AnalysedNode& node, double relative) {
  static const std::set<std::string, std::less<>> means{"ReduceMean", "GlobalAveragePool"};
  const bool is_mean = means.contains(node.node.op);
  if (!node.node.domain.empty() || !(is_mean || node.node.op == "ReduceSum") || node.out[0] == nullptr)
    return std::nullopt;
  const ElementErrors& operand = *node.in[0];
  Tensor variances = stored_as_doubles(operand.value);
  const auto values = variances.mutable_values<double>();
  for_each_element(values.size(), [&](size_t i) {
    const double own = operand.at(i);
    values[i] = values[i] * values[i] * relative + own * own;
  });
  auto squares = node.evaluate({&variances}).at(0).to_doubles();
  const double terms =
      static_cast<double>(operand.value.size()) / std::max<double>(1, static_cast<double>(squares.size()));
  for (double& each : squares) each = std::isfinite(each) ? each / (is_mean ? terms : 1) : HUGE_VAL;
  return squares;
}

bool is_real_operand(const AnalysedNode& node, size_t input) {
  return node.has(input) && ops::role_of(node.node, input) != ops::Role::kSizes &&
         node.in[input]->value.size() > 0 && is_float(node.node.inputs[input]->type.tensor.element);
}

}  // namespace

std::vector<std::vector<double>> perturbed_errors(const AnalysedNode& node, bool computes) {
  std::vector<std::vector<double>> squares(node.out.size());
  if (node.in.empty() || (!computes && node.is_exact())) return squares;
  const double relative = computes ? relative_variance(node) : 0;
  const auto exact = is_real_operand(node, 0) ? squares_of_sum(node, relative) : std::nullopt;
  if (exact) squares[0] = *exact;
  for (size_t draw = 0; draw < kDraws && !exact; ++draw) {
    std::vector<Tensor> moved(node.in.size());
    std::vector<const Tensor*> operands(node.in.size(), nullptr);
    for (size_t i = 0; i < node.in.size(); ++i) {
      if (!is_real_operand(node, i)) continue;
      moved[i] = drawn(*node.in[i], relative, draw * node.in.size() + i + 1);
      operands[i] = &moved[i];
    }
    const auto results = node.evaluate(operands);
    for (size_t i = 0; i < node.out.size(); ++i) {
      if (node.out[i] != nullptr) add_squares(squares[i], *node.out[i], results.at(i));
    }
  }
  constexpr double kFewUlps = 4;
  const double function =
      computes && node.contract.approximate ? kFewUlps * unit_roundoff(node.contract.computed) : 0;
  const bool by_formula = computes && node.contract.by_formula;
  const double coordinates = by_formula ? of_coordinates(node) : 0;
  for (size_t i = 0; i < node.out.size(); ++i) {
    if (node.out[i] == nullptr) continue;
    squares[i] = with_neighbours(squares[i]);
    const auto values = node.out[i]->to_doubles();
    const double whole = std::hypot(coordinates, computes ? of_gates(node, values, by_formula) : 0);
    for_each_element(squares[i].size(), [&](size_t k) {
      const double own = computes && std::isfinite(values[k])
                             ? std::hypot(std::hypot(function * values[k], whole),
                                          rounding_error(node.contract.computed, values[k]))
                             : 0;
      squares[i][k] = std::sqrt(squares[i][k] + own * own);
    });
  }
  return squares;
}

}  // namespace vernier

#include "vernier/error_analysis/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "vernier/base/error.h"
#include "vernier/numeric/ulp.h"

namespace vernier {

namespace {

// A uniform distribution within one unit to both sides has this variance.
constexpr double kUniform = 1.0 / 3;

double square(double x) {
  return x * x;
}

// A rounding of the accumulator, relative to the partial sum.
double roundoff_variance(ElementType type) {
  return float_format(type) ? kUniform * square(unit_roundoff(type)) : 0;
}

// The sum of the squares of partial sums, in units of the sum of squares of terms (random signs) and of the
// square of the whole sum (one sign).
struct PartialSums {
  double random, aligned;
};

PartialSums partial_sums(NumericsContract::Order order, double terms) {
  if (order != NumericsContract::Order::kPairwise) return {terms / 2 + 1, terms / 3 + 1};
  const double levels = std::ceil(std::log2(std::max(2.0, terms)));  // each level sums all terms once
  return {levels, 2};
}

// Rows of the transform of data, of weights, and columns of that of outputs.
struct WinogradTransforms {
  std::span<const double> data, weights;  // squares of the coefficients, summed for each position
  std::span<const double> outputs;        // coefficients, by output and position
  size_t positions;
};

double growth_along_an_axis(const WinogradTransforms& transforms) {
  constexpr double kTaps = 3;
  double most = 0;
  for (size_t output = 0; output * transforms.positions < transforms.outputs.size(); ++output) {
    double sum = 0;
    for (size_t i = 0; i < transforms.positions; ++i)
      sum += square(transforms.outputs[output * transforms.positions + i]) * transforms.data[i] *
             transforms.weights[i];
    most = std::max(most, sum / kTaps);
  }
  return most;
}

constexpr std::array<double, 4> kDataOfTwo{2, 2, 2, 2}, kWeightsOfTwo{1, 0.75, 0.75, 1};
constexpr std::array<double, 8> kOutputsOfTwo{1, 1, 1, 0, 0, 1, -1, -1};

constexpr double kSixth = 3.0 / 36, kTwentyFourth = 1.0 / 576 + 1.0 / 144 + 1.0 / 36;
constexpr std::array<double, 6> kDataOfFour{42, 34, 34, 10, 10, 42};
constexpr std::array<double, 6> kWeightsOfFour{1.0 / 16, kSixth, kSixth, kTwentyFourth, kTwentyFourth, 1};
constexpr std::array<double, 24> kOutputsOfFour{1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0,
                                                0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1};

}  // namespace

double rounding_error(ElementType type, double value) {
  const auto format = float_format(type);
  if (!format || !std::isfinite(value)) return 0;
  int exponent = format->min_exponent;
  if (value != 0) std::frexp(value, &exponent);  // of [0.5, 1)
  const int of_unit = std::max(exponent - 1, format->min_exponent) - format->mantissa_bits;
  return std::scalbn(std::sqrt(kUniform), of_unit - 1);
}

double operand_variance(const NumericsContract& contract) {
  if (contract.operands == ElementType::kUndefined) return 0;
  const double unit = unit_roundoff(contract.operands), left = std::pow(unit, contract.terms);
  // Both factors are rounded; and of two terms the product of the smaller ones is left out.
  return 2 * kUniform * square(left) + (contract.terms == 2 ? square(kUniform * square(unit)) : 0);
}

double accumulation_variance(const NumericsContract& contract, const SumOfProducts& sum) {
  if (is_integer(contract.accumulated)) {
    constexpr double kRoundings = 3;  // of the converted sum, of its scale, and of their product
    return kRoundings * roundoff_variance(contract.computed) * square(sum.sum);
  }
  const ElementType accumulator =
      contract.accumulated == ElementType::kUndefined ? contract.computed : contract.accumulated;
  const PartialSums partial = partial_sums(contract.order, sum.terms);
  // Below the normal numbers a rounding no longer shrinks with what it rounds.
  const double least = sum.terms * square(rounding_error(accumulator, 0));
  return least +
         roundoff_variance(accumulator) * (partial.random * sum.squares + partial.aligned * square(sum.sum) +
                                           sum.terms * square(sum.start));
}

double winograd_variance_growth(int outputs) {
  switch (outputs) {
    case 0: return 1;
    case 2: return square(growth_along_an_axis({kDataOfTwo, kWeightsOfTwo, kOutputsOfTwo, 4}));
    case 4: return square(growth_along_an_axis({kDataOfFour, kWeightsOfFour, kOutputsOfFour, 6}));
    default: throw internal_error("Winograd's transform of {} outputs is not known", outputs);
  }
}

}  // namespace vernier

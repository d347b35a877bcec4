#include "vernier/error_analysis/rounding.h"

#include <algorithm>
#include <array>
#include <bit>
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

// Half of the smallest subnormal number, which every rounding near zero is below.
double least_half_unit(ElementType type) {
  const auto format = float_format(type);
  return format ? std::ldexp(0.5, format->min_exponent - format->mantissa_bits) : 0;
}

// The sum of the squares of partial sums, in units of the sum of squares of terms (random signs) and of the
// square of the whole sum (one sign).
struct PartialSums {
  double random, aligned;
};

// The squares of a random walk sum up to half the number of its steps on average, but to twice that in one
// walk of seven. The weights of real models make such walks of a whole column, and thousands of elements look
// for the largest.
PartialSums partial_sums(NumericsContract::Order order, double terms) {
  if (order != NumericsContract::Order::kPairwise) return {terms + 1, terms / 3 + 1};
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

double flushed_below(ElementType type) {
  return type == ElementType::kBFloat16 ? 0x1p-126 : 0;
}

RoundingError::RoundingError(ElementType type) {
  const auto format = float_format(type);
  if (!format) return;
  rounds_ = true;
  mantissa_bits_ = format->mantissa_bits;
  min_exponent_ = format->min_exponent;
  flushed_below_ = flushed_below(type);
}

bool RoundingError::is_exact(double value) const {
  if (!rounds_ || value == 0 || !std::isfinite(value)) return true;
  if (std::abs(value) < flushed_below_) return false;
  const int of_a_unit = std::max(std::ilogb(value), min_exponent_) - mantissa_bits_;
  const double units = std::ldexp(value, -of_a_unit);
  return units == std::trunc(units);
}

double RoundingError::of(double value) const {
  static const double root = std::sqrt(kUniform);
  constexpr int kBias = 1023, kBits = 52, kNotFinite = 0x7ff;
  const int biased = static_cast<int>((std::bit_cast<uint64_t>(value) >> kBits) & kNotFinite);
  if (!rounds_ || biased == kNotFinite || value == 0) return 0;
  if (std::abs(value) < flushed_below_) return std::abs(value);
  const int of_half_a_unit = std::max(biased - kBias, min_exponent_) - mantissa_bits_ - 1;
  if (of_half_a_unit <= -kBias) return std::scalbn(root, of_half_a_unit);  // a subnormal power of two
  return root * std::bit_cast<double>(static_cast<uint64_t>(of_half_a_unit + kBias) << kBits);
}

double rounding_error(ElementType type, double value) {
  return RoundingError(type).of(value);
}

double operand_variance(const NumericsContract& contract) {
  if (!contract.operands.is_defined()) return 0;
  const double unit = contract.operands.unit_roundoff(), left = std::pow(unit, contract.terms);
  // Both factors are rounded; and of two terms the product of the smaller ones is left out.
  return 2 * kUniform * square(left) + (contract.terms == 2 ? square(kUniform * square(unit)) : 0);
}

double operand_bias(const NumericsContract& contract) {
  const bool may_truncate = contract.operands == OperandFormat::tf32() && contract.terms == 1;
  // A factor loses less than two units, and one on average; a product loses what both do.
  return may_truncate ? 2 * contract.operands.unit_roundoff() : 0;
}

Accumulation::Accumulation(const NumericsContract& contract, double terms) {
  if (is_integer(contract.accumulated)) {
    constexpr double kRoundings = 3;  // of the converted sum, of its scale, and of their product
    of_sum_ = kRoundings * roundoff_variance(contract.computed);
    // A bias is added to the converted sum, which is as large where both cancel.
    of_start_ = of_sum_;
    return;
  }
  const ElementType accumulator =
      contract.accumulated == ElementType::kUndefined ? contract.computed : contract.accumulated;
  const PartialSums partial = partial_sums(contract.order, terms);
  const double rounding = roundoff_variance(accumulator);
  // Below the normal numbers a rounding no longer shrinks with what it rounds.
  least_ = terms * kUniform * square(least_half_unit(accumulator));
  of_squares_ = rounding * partial.random;
  of_sum_ = rounding * partial.aligned;
  of_start_ = rounding * terms;
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

// The model of rounding errors. Each rounding is taken for an independent random error, uniform within half a
// unit in the last place, so variances add up. Higham and Mary, "A new approach to probabilistic rounding
// error analysis" (SIAM J. Sci. Comput. 41, 2019), show why this describes real sums, where the worst case,
// which grows with the number of terms and not with its root, is never met.
#pragma once

#include "vernier/numeric/numerics_contract.h"

namespace vernier {

// A deviation of so many times the expected error is no rounding any more. Of ten million normally
// distributed errors the largest is expected at 5.3.
inline constexpr double kLargestDeviation = 6;

// Below this, numbers of the type may be zero to what computes with it: x86's instructions for bfloat16 take
// subnormal numbers for zero, whatever the program says (Intel's manual of instructions, VDPBF16PS and
// VCVTNEPS2BF16). 0 for all other types.
double flushed_below(ElementType type);

// The root mean square of the error of rounding `value` once to the type; 0 for types that are no floats, and
// of zero, which all of them hold: a mask that is zero may not become a little more by being stored.
double rounding_error(ElementType type, double value);
// The same of many values.
class RoundingError {
 public:
  explicit RoundingError(ElementType type);
  double of(double value) const;
  // Whether storing the value rounds nothing, by its digits; its range is not looked at.
  bool is_exact(double value) const;

 private:
  bool rounds_ = false;
  int mantissa_bits_ = 0, min_exponent_ = 0;
  double flushed_below_ = 0;
};

// The variance, relative to the square of a product of two factors, of what the contract does to the factors
// before they are multiplied.
double operand_variance(const NumericsContract& contract);
// The part of itself that a sum of products may lose because all factors are rounded toward zero: such errors
// are not independent of each other, and add up. Matrix units may drop the bits that TF32 does not have, or
// round to nearest, and no library says which.
double operand_bias(const NumericsContract& contract);

// The variance of accumulating so many products as the contract says. Terms of both signs make partial sums
// that grow with the root of their number, terms of one sign such that grow with it; both are covered. An
// integer accumulator is exact, and what is left is the conversion of its result.
class Accumulation {
 public:
  Accumulation(const NumericsContract& contract, double terms);
  // Gives the variance of one accumulator: from the sum of the squares of its products, what the accumulator
  // started with, and the sum itself.
  double variance(double squares, double start, double sum) const {
    return least_ + of_squares_ * squares + of_start_ * start * start + of_sum_ * sum * sum;
  }

 private:
  double least_ = 0, of_squares_ = 0, of_start_ = 0, of_sum_ = 0;
};

// By how much Winograd's F(m x m, 3 x 3) multiplies the variance of the errors of products, at that output of
// a tile where it does most: the squares of the coefficients of its three transforms, summed along the ways
// from factors to outputs, against those of the direct sum. Points are 0, 1, -1 (m = 2) and also 2, -2 (m =
// 4).
double winograd_variance_growth(int outputs);

}  // namespace vernier

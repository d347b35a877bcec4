// The activation that follows most contractions: y = f(accumulator), where f clamps its argument x, or is
// x * sigmoid(x * q(x * x)), which is SiLU if q is 1 and approximates GELU if q is a polynomial.
#pragma once

#include <array>
#include <limits>

namespace vernier::cpu {

// Says what q is: a number for kSwish, a polynomial for the two forms of GELU.
enum class RowGate { kNone, kSwish, kGelu, kGeluTanh };

struct ActivationEpilogue {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  RowGate gate = RowGate::kNone;  // a gate replaces the clamp; its error is below the rounding of the store
  float swish = 1;                // q of kSwish
};

// The coefficients of q(t) for GELU, the lowest power first. With them sigmoid(x * q(x * x)) approximates the
// normal distribution within a relative 2^-14 up to |x| = 5.5, the square of which limits t; for larger |x|
// the product with x is off by at most 1e-7. They are a least-squares fit, reweighted to minimise the largest
// error.
inline constexpr float kGeluMost = 5.5F * 5.5F;
inline constexpr std::array<float, 8> kGeluGate = {1.59558785F,      0.0729412362F,   -0.000181983283F,
                                                   -9.01744352e-05F, 6.34086064e-06F, -2.20747168e-07F,
                                                   4.01163192e-09F,  -3.01432282e-11F};
inline constexpr std::array<float, 2> kGeluTanhGate = {1.59576912F, 0.0713548163F};

}  // namespace vernier::cpu

// How the sums of most contractions end: y = f(sum), where f clamps, or is x * sigmoid(x * q(x * x)).
#pragma once

#include <array>
#include <limits>

namespace vernier::cpu {

// q is a number, or a polynomial.
enum class RowGate { kNone, kSwish, kGelu, kGeluTanh };

struct RowEnd {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  RowGate gate = RowGate::kNone;  // if there is one, it is all of f, to the digits of what is stored
  float swish = 1;                // q of kSwish
};

// q(t), the lowest power first. Of GELU: sigmoid(x * q(x * x)) is the normal distribution within 2^-14 of it
// up to |x| = 5.5, where t ends; beyond, x times it is 1e-7 off at most (least squares, weighted again until
// the largest error is least).
inline constexpr float kGeluMost = 5.5F * 5.5F;
inline constexpr std::array<float, 8> kGeluGate = {1.59558785F,      0.0729412362F,   -0.000181983283F,
                                                   -9.01744352e-05F, 6.34086064e-06F, -2.20747168e-07F,
                                                   4.01163192e-09F,  -3.01432282e-11F};
inline constexpr std::array<float, 2> kGeluTanhGate = {1.59576912F, 0.0713548163F};

}  // namespace vernier::cpu

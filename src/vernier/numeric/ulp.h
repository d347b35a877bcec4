// The spacing of floating-point formats.
#pragma once

#include <optional>

#include "vernier/numeric/element_type.h"

namespace vernier {

struct FloatFormat {
  int mantissa_bits = 0;  // stored ones, without the hidden bit
  int min_exponent = 0;   // of the smallest normal number, 2^min_exponent

  // `difference` in units of the last place that the format has at `reference` (finite). The reference need
  // not be a number of the format; at and near zero the unit is the smallest subnormal.
  double ulps(double difference, double reference) const;
};

// Nothing for types that are no real floating-point type. Complex types have the format of their parts.
std::optional<FloatFormat> float_format(ElementType type);

// The largest relative error of rounding to the type, for normal numbers; for integers, which quantized
// values are, half a step against the largest one. 0 for other types.
double unit_roundoff(ElementType type);

}  // namespace vernier

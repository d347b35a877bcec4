// From a histogram to the range that is quantized.
#pragma once

#include <optional>
#include <string_view>

#include "vernier/calibrate/range_histogram.h"
#include "vernier/precision/calibration.h"

namespace vernier {

enum class RangeMethod : uint8_t {
  kMinMax,      // all that occurred
  kEntropy,     // the least Kullback-Leibler divergence between the values and what their codes tell of them
  kPercentile,  // a share of the values
  kMse,         // the least mean square of the error of quantization, clipping included
};
// "minmax", "entropy", "percentile", "mse".
std::string_view range_method_name(RangeMethod method);
// Throws usage_error.
RangeMethod parse_range_method(std::string_view name);

struct RangeChoice {
  RangeMethod method = RangeMethod::kEntropy;
  double percentile = 99.99;  // of kPercentile, in (0, 100]
  bool float8 = false;        // f8e4m3fn instead of int8
  // Values of both signs become u8 with a zero point, instead of i8 around zero. Values of which none is
  // negative become u8 from zero on either way.
  bool asymmetric = false;
};

// A tensor that is zero throughout gets scale 1. The same histogram gives the same bits.
ScaleEntry choose_range(const RangeHistogram& histogram, const RangeChoice& choice);

}  // namespace vernier

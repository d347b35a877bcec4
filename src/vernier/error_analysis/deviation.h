// Whether what a kernel yields is within its rounding errors, element by element.
#pragma once

#include <string>

#include "vernier/error_analysis/expected_error.h"

namespace vernier {

struct Deviation {
  // The largest difference of an element in units of its bound, kLargestDeviation expected errors; at most 1
  // for a healthy kernel, infinite where NaN or Inf stand on one side only.
  double worst = 0;
  int64_t element = -1;  // where, row-major; -1: no element differs
  double expected = 0, actual = 0, bound = 0;

  bool is_rounding() const { return worst <= 1; }
  // "element 17 is 0.25, expected 0.5: 3.1e4 times its bound of 8e-6"
  std::string text() const;
};

// `actual` has the sizes of the expected value, in its declared type. An element whose error is not known
// (infinite) is not judged, but for NaN and Inf.
Deviation deviation(const ElementErrors& expected, const Tensor& actual);

}  // namespace vernier

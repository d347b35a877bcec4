// Softmax of one row.
#pragma once

#include <cmath>
#include <cstdint>

namespace vernier::ops {

// The largest of `length` > 0 elements, `step` apart; NaN if there is one.
inline double largest(const double* x, int64_t length, int64_t step) {
  double result = x[0];
  for (int64_t i = 1; i < length; ++i) {
    if (x[i * step] > result || std::isnan(x[i * step])) result = x[i * step];
  }
  return result;
}

// y = softmax(x); x and y may be the same.
inline void softmax(const double* x, double* y, int64_t length, int64_t step) {
  const double top = largest(x, length, step);
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += y[i * step] = std::exp(x[i * step] - top);
  for (int64_t i = 0; i < length; ++i) y[i * step] /= sum;
}

}  // namespace vernier::ops

// Mean and inverse deviation of a row of floats, in two passes: the deviations are taken from the mean.
#pragma once

#include <algorithm>
#include <cmath>

#include "vernier/backends/cpu/vectors/float_loops.h"

namespace vernier::cpu {

struct RowStatistics {
  float mean = 0, inverse_deviation = 0;
};

// The fold of a long row, in blocks.
inline double fold_long_row(Fold fold, const float* x, int64_t count, float shift) {
  if (count <= kFoldBlock) return static_cast<double>(fold_row(fold, x, count, shift));
  double result = static_cast<double>(identity_of(fold));
  for (int64_t first = 0; first < count; first += kFoldBlock) {
    const float block = fold_row(fold, x + first, std::min(kFoldBlock, count - first), shift);
    result = joined(fold, result, static_cast<double>(block));
  }
  return result;
}

// Uncentred: the mean is 0, and the variance is the mean square.
inline RowStatistics row_statistics(const float* x, int64_t count, bool centred, float epsilon) {
  RowStatistics result;
  const auto elements = static_cast<double>(count);
  if (centred) result.mean = static_cast<float>(fold_long_row(Fold::kSum, x, count, 0) / elements);
  const double variance = fold_long_row(Fold::kSquare, x, count, result.mean) / elements;
  result.inverse_deviation = static_cast<float>(1 / std::sqrt(variance + static_cast<double>(epsilon)));
  return result;
}

// Normalisation of rows of bfloat16 in vectors that hold and compute floats.
struct Bf16Normalization {
  int64_t count;  // of a row
  bool centred;
  float epsilon;
  const float *scale, *bias;  // of each element; no bias: null
};

// Whether rows of so many elements are served here, on this processor.
bool normalises_bf16(int64_t count);
// y = (x - mean) * inverse deviation * scale + bias, and may be x; `buffer` holds a row of floats. Gives the
// statistics, which it finds in two passes, as row_statistics() does.
RowStatistics normalise_bf16(const Bf16Normalization& normalization, const uint16_t* x, float* buffer,
                             uint16_t* y);

}  // namespace vernier::cpu

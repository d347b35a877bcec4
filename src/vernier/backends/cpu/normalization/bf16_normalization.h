// Normalisation of rows of bfloat16 in vectors that hold and compute floats.
#pragma once

#include "vernier/backends/cpu/normalization/row_statistics.h"

namespace vernier::cpu {

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

// The epilogue of most blocks of accumulators, in one pass: y = f(accumulators + bias [+ residual]), rounded
// to the output's type. Subnormal numbers of bfloat16 become 0, because AMX tiles read them as 0.
#pragma once

#include <cstdint>

#include "vernier/backends/cpu/epilogue/activation_epilogue.h"

namespace vernier::cpu {

struct TileStore {
  const float* sums;     // rows of kBlockColumns, of which `columns` count
  const float* bias;     // of each column
  const void* residual;  // of y's type, lies as y does; null: none
  void* y;
  int64_t stride, rows, columns;  // `stride` elements from a row of y to the next
  bool is_narrow;                 // y is of bfloat16, else of floats
  ActivationEpilogue end = {};    // of floats, no gate but kSwish
};

// A NaN stays one. y may be the residual, or the sums.
void store_tiles(const TileStore& store);

}  // namespace vernier::cpu

// Rows of bfloat16 times a row of bfloat16, column by column.
#pragma once

#include <cstdint>

namespace vernier::cpu {

bool has_channel_scale();  // on this processor

struct ScaledRows {
  const uint16_t *x, *scale;  // rows, and a number for each column
  uint16_t* y;                // may be x
  int64_t rows, columns;      // the rows lie one after the other
};
// Each product is rounded once.
void scale_channels(const ScaledRows& rows);

}  // namespace vernier::cpu

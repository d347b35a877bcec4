// How rows of 32 sums of bytes end (ByteOutput): the same bits as integer_rows.h gives.
#pragma once

#include "vernier/backends/cpu/tiles/vector_block.h"

namespace vernier::cpu {

class ByteEnd {
 public:
  ByteEnd(const ByteOutput& output, int64_t columns) : output_(output), columns_(columns) {}

  // Rows [row, row + count) of the output, by those of `sums`.
  void store(const int32_t* sums, int64_t row, int64_t count) const;

 private:
  ByteOutput output_;
  int64_t columns_;
};

}  // namespace vernier::cpu

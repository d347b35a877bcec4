// Folds down the columns of a matrix that may be stored in a narrow type.
#pragma once

#include <cstdint>

#include "vernier/backends/cpu/vectors/float_storage.h"

namespace vernier::cpu {

// Sums down the columns of matrices of bfloat16.

// sums[i] = the sum of column i, row by row in floats; rows are `stride` elements apart. At most kTileColumns
// columns.
void sum_columns_bf16(const uint16_t* x, int64_t rows, int64_t stride, int64_t columns, float* sums);

struct StoredMatrix {
  ElementType element;
  const void* data;
  int64_t stride;  // from row to row
};

// result[i], which holds what was folded before, joined with the fold of column i of a tile whose first
// element lies at `at`; at most kTileColumns columns. In blocks of rows that are joined in double.
inline void fold_tile(const StoredMatrix& matrix, Fold kind, int64_t at, int64_t rows, int64_t columns,
                      const float* shift, double* result) {
  alignas(64) std::array<float, kFoldBlock> buffer;
  alignas(64) std::array<float, kTileColumns> folded;
  constexpr int64_t kRows = kFoldBlock / kTileColumns;
  const bool narrow = is_narrow(matrix.element);
  const auto* elements = static_cast<const uint16_t*>(matrix.data);
  for (int64_t first = 0; first < rows; first += kRows, at += kRows * matrix.stride) {
    const int64_t count = std::min(kRows, rows - first);
    if (matrix.element == ElementType::kBFloat16 && kind == Fold::kSum) {
      sum_columns_bf16(elements + at, count, matrix.stride, columns, folded.data());
      for (int64_t i = 0; i < columns; ++i) result[i] += static_cast<double>(folded[static_cast<size_t>(i)]);
      continue;
    }
    for (int64_t row = 0; row < count && narrow; ++row)
      load_floats(matrix.element, matrix.data, at + row * matrix.stride, columns,
                  buffer.data() + row * kTileColumns);
    const float* values = narrow ? buffer.data() : static_cast<const float*>(matrix.data) + at;
    fold_columns(kind, values, count, narrow ? kTileColumns : matrix.stride, columns, shift, folded.data());
    for (int64_t i = 0; i < columns; ++i)
      result[i] = joined(kind, result[i], static_cast<double>(folded[static_cast<size_t>(i)]));
  }
}

}  // namespace vernier::cpu

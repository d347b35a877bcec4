// Reads what a convolution or a matrix product multiplies, as rows by columns, so that its sums can be taken
// otherwise than they should be.
#pragma once

#include "vernier/diagnose/causes/member.h"

namespace vernier {

struct MatrixProduct {
  int64_t groups = 1, rows = 0, length = 0, columns = 0;  // each of one group; sums are over `length`
  int64_t taps = 1;  // of a convolution: index k of a sum is of channel k / taps
  // Element k of row r of group g, [groups, rows, length], and [groups, length, columns].
  std::vector<double> left, right;
  // Where the sum of a row and a column is in the result.
  std::vector<int64_t> row_offset;  // [groups, rows]
  int64_t column_stride = 1;

  double left_at(int64_t group, int64_t row, int64_t k) const {
    return left[static_cast<size_t>((group * rows + row) * length + k)];
  }
  double right_at(int64_t group, int64_t k, int64_t column) const {
    return right[static_cast<size_t>((group * length + k) * columns + column)];
  }
  size_t result_at(int64_t group, int64_t row, int64_t column) const {
    return static_cast<size_t>(row_offset[static_cast<size_t>(group * rows + row)] + column * column_stride);
  }
};

// Which operands a node multiplies; nothing if it does not.
std::optional<std::pair<size_t, size_t>> factors_of(const Node& node);

// Reads these operands, as numbers, in place of the member's; padding counts as zero. Nothing for nodes that
// are no products, or of more than so many terms (those of a convolution count for each element of its
// kernels).
constexpr double kMostProducts = 2e9;
std::optional<MatrixProduct> product_of(const Member& member, const Tensor& left, const Tensor& right,
                                        double most = kMostProducts);

}  // namespace vernier

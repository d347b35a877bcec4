// Small products, computed by the caller's thread, with weights that are packed once or with a matrix as it
// lies: where calling a library would cost more than the product.
#pragma once

#include <cstdint>
#include <vector>

namespace vernier::cpu {

// Columns of a panel, of this machine: a panel holds the weights of so many columns, depth by depth.
int64_t panel_columns();

struct PackedShape {
  int64_t columns = 0, depth = 0;

  int64_t panels() const { return (columns + panel_columns() - 1) / panel_columns(); }
  int64_t row_size() const { return panels() * panel_columns(); }  // of the result, with columns of zeros
  int64_t size() const { return row_size() * depth; }
};

// Weight (column, depth) lies at weights[column * column_stride + depth * depth_stride].
void pack_panels(const float* weights, const PackedShape& shape, int64_t column_stride, int64_t depth_stride,
                 float* panels);

struct PanelProduct {
  const float* x;  // row after row
  int64_t x_stride, rows;
  const float *panels, *bias;  // bias: of each column of a panel; null: none
  float* y;
  int64_t y_stride;
  bool add = false;  // to what is in y, in place of the bias
  // If not 0: `panels` is a matrix in row-major order, with so many floats from one depth to the next. Then y
  // of a panel begins at y, not at its column.
  int64_t matrix_stride = 0;
};
// y = x * weights + bias in panels [first, last), whole panels: of a matrix, with columns of zeros, too. What
// a row comes to depends on how many rows there are if they are fewer than 4, and on nothing else.
void multiply_panels(const PanelProduct& product, const PackedShape& shape, int64_t first, int64_t last);

}  // namespace vernier::cpu

// The matrix products inside attention: small ones, on panels of packed keys and values.
#pragma once

#include <cstdint>

namespace vernier::cpu {

// A packed matrix of `columns` columns is cut into panels of panel_width() columns, each stored row by row;
// the last is as wide as the vectors that it needs.
int64_t panel_width();
int64_t vector_width();

// c [rows, columns of the panel] = a [rows, depth] * panel [depth, width]; with `adds`, c += that. The width
// is that of one panel, a multiple of vector_width().
void multiply_panel(const float* a, int64_t a_stride, int64_t rows, int64_t depth, const float* panel,
                    int64_t width, float* c, int64_t c_stride, bool adds);

}  // namespace vernier::cpu

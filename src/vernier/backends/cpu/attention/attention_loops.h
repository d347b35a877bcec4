// The loops inside attention: matrix products on panels of packed keys and values or on their rows as they
// lie, and over rows of scores.
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

// products[i] = x * row i of a matrix whose rows of `size` elements lie `stride` apart, as they are in
// memory.
void multiply_rows_in_place(const float* x, int64_t size, const float* rows, int64_t stride, int64_t count,
                            float* products);
// sums [size] = the sum of weights[i] * row i; with `adds`, sums += that. Sums are whole vectors.
void weigh_rows_in_place(const float* weights, int64_t count, const float* rows, int64_t stride, int64_t size,
                         float* sums, bool adds);

// Changes a row of products to x * scale + shift + bias; minus infinity where `allowed` is 0.
struct ScoreEdits {
  float scale = 1, shift = 0;
  const float* bias = nullptr;       // of each score; null: none
  const uint8_t* allowed = nullptr;  // the same
};
// In place; gives the largest, of which a NaN is larger than all.
float finish_scores(float* scores, int64_t count, const ScoreEdits& edits);

}  // namespace vernier::cpu

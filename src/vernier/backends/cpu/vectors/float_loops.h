// Loops over rows of floats, compiled for every instruction set and chosen when they run. Sums go through
// several accumulators in a fixed order that depends on the machine only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vernier::cpu {

// Says what is folded of each element x, and how; `shift` is subtracted from x where it says so.
enum class Fold : uint8_t {
  kSum,
  kAbsolute,  // sum of |x|
  kSquare,    // sum of (x - shift)^2
  kExp,       // sum of exp(x - shift), for x <= shift
  kProduct,
  kMax,  // a NaN wins
  kMin,
};
// Gives the result of folding nothing.
float identity_of(Fold fold);
// Two folds as one.
double joined(Fold fold, double a, double b);

// Sums of more elements lose digits: folds are called for at most so many and joined in double.
inline constexpr int64_t kFoldBlock = 4096;
// Columns that the loops over columns take at a time.
inline constexpr int64_t kTileColumns = 64;

float fold_row(Fold fold, const float* x, int64_t count, float shift);
// Column by column over `rows` rows, `stride` apart, of at most kTileColumns columns.
void fold_columns(Fold fold, const float* x, int64_t rows, int64_t stride, int64_t columns,
                  const float* shift, float* result);

// y = exp(x - shift), for x <= shift; gives the sum. Below 2^-126 it gives 0.
float exp_row(const float* x, int64_t count, float shift, float* y);
// y = softmax(x) of one row.
void softmax_row(const float* x, int64_t count, float* y);
// The same down `columns` columns, of at most kTileColumns.
void softmax_columns(const float* x, int64_t rows, int64_t stride, int64_t columns, float* y);

// y = (x - mean) * factor + shift.
void affine_row(const float* x, int64_t count, float mean, float factor, float shift, float* y);
// y = (x - mean) * factor * scale + bias, element by element; no bias where that is null.
void normalise_row(const float* x, int64_t count, float mean, float factor, const float* scale,
                   const float* bias, float* y);
// y = (x - mean) * factor + shift with vectors for all three.
void affine_each(const float* x, int64_t count, const float* mean, const float* factor, const float* shift,
                 float* y);
void add_rows(const float* a, const float* b, int64_t count, float* y);

// float16 and bfloat16, as their bits, to floats and back: one rounding, to nearest even.
void upcast_f16(const uint16_t* from, int64_t count, float* to);
void upcast_bf16(const uint16_t* from, int64_t count, float* to);
void narrow_f16(const float* from, int64_t count, uint16_t* to);
void narrow_bf16(const float* from, int64_t count, uint16_t* to);

}  // namespace vernier::cpu

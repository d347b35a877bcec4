// Rows of int8 between the products of quantized attention: what their accumulators are rounded to,
// and a softmax of int8 that is rounded to int8.
#pragma once

#include <array>

#include "vernier/backends/cpu/quantized/int8_table.h"

namespace vernier::cpu {

// Whether this process may call what is declared here.
bool has_int8_rows();

// How many bytes are worked on at a time: where rows have room for whole vectors, all may be written.
inline constexpr int64_t kByteVector = 64;

// Maps each of `rows` rows of `count` elements through the table.
struct LookUpRows {
  const uint8_t* from;
  int64_t from_stride, rows, count;
  uint8_t* to;
  int64_t to_stride;
};
void look_up_rows(const Int8Table& table, const LookUpRows& rows);

// A number becomes round(x * scale) between bounds, then a code: how far above the lowest of its type it is,
// 0 to 255. NaN becomes the lowest.
struct Int8Rounding {
  float scale, low, high;  // bounds of the integers, their zero point taken off

  Int8Rounding(double scale, double zero_point, ElementType type);
};

struct SumRows {
  const int32_t* sums;    // [rows, 32]
  const int32_t* moves;   // of each row, what is added to its sums
  int64_t rows, columns;  // 32 at most
  uint8_t* to;
  int64_t stride;
};

// These floats are added to the rounded accumulators: [rows, columns], columns a `step` of 0 or 1 apart.
struct AddedRows {
  const float* mask;  // null: nothing is added, nor rounded again
  int64_t stride, step;
  float unit;  // of the rounded sums, in that of the second rounding
};

// Codes of the sums; with a mask, of what it and the rounded sums come to, by `second`. `flip` is combined
// with each code by XOR.
void round_sums(const SumRows& rows, const Int8Rounding& first, const AddedRows& added,
                const Int8Rounding& second, uint8_t flip);

// The softmax of codes that count in units of `scale`: how much less than the largest weighs how much.
class Int8Softmax {
 public:
  // Weights are rounded by `scale` and `zero_point` to integers of `type`; `then` is what becomes of their
  // codes.
  Int8Softmax(double scale, double weight_scale, double weight_zero_point, ElementType type,
              const Int8Table& then);

  // A row of `keys` codes, in place, and zeros behind them up to a whole vector. Gives the sum of the bytes.
  int32_t weigh(uint8_t* row, int64_t keys) const;

 private:
  static constexpr size_t kPlanes = 4;

  // exp(-scale * code): in units of 2^-31, byte by byte; and as floats, in the order in which packing them
  // brings them into that of the codes.
  alignas(64) std::array<Int8Table, kPlanes> planes_;
  alignas(64) std::array<float, 256> weights_;
  alignas(64) Int8Table then_;
  float weight_scale_;
  int16_t offset_;
};

}  // namespace vernier::cpu

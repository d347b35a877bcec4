// Sums and products of two quantised operands: in float wherever their rounding is beyond doubt, and else
// from a table. The results are those of the table, bit for bit.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// In steps of the result, from its zero point: a * a_factor + b * b_factor + offset, or, of a product,
// (a - a_zero) * (b - b_zero) * a_factor.
struct Int8Arithmetic {
  // Of QLinearAdd and QLinearMul. Nothing where parameters are not known, or results so far from 0 that
  // floats leave too many in doubt.
  static std::optional<Int8Arithmetic> of(const KernelRequest& request);

  // Of so many elements; `table` has the result of each code of a and b, [256, 256].
  void run(const uint8_t* table, const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* to) const;

  bool is_product = false;
  bool a_signed = false, b_signed = false, result_signed = false;
  float a_factor = 0, b_factor = 0, offset = 0, a_zero = 0, b_zero = 0;
  float most_certain = 0;  // distance from an integer up to which rounding goes there
  int32_t zero_point = 0;
};

}  // namespace vernier::cpu

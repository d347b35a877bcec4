// Pointwise operators of one 8-bit operand as a table of their 256 results, and of two as one of 65536.
#pragma once

#include <array>

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// A node or group whose only operand that is not known is of INT8 or UINT8, as its result is. The operators'
// reference makes the table, so the results are exactly what they mean. QLinearAdd and QLinearMul, whose real
// numbers are doubles, may have two such operands of the same sizes, where vectors hold few doubles and there
// are enough elements to be worth a table that a first cache does not hold.
std::unique_ptr<Kernel> make_int8_table(const KernelRequest& request, std::string& reason);

using Int8Table = std::array<uint8_t, 256>;
// to[i] = table[from[i]].
void look_up(const Int8Table& table, const uint8_t* from, int64_t count, uint8_t* to);

// Sums and products of two quantized operands: in float wherever their rounding is beyond doubt, and else
// from a table. The results are those of the table, bit for bit.

// In steps of the result, from its zero point: a * a_factor + b * b_factor + offset, or, of a product,
// (a - a_zero) * (b - b_zero) * a_factor.
struct Int8Arithmetic {
  // Reads QLinearAdd and QLinearMul. Gives nothing where parameters are not known, or results so far from 0
  // that floats leave too many in doubt.
  static std::optional<Int8Arithmetic> of(const KernelRequest& request);

  // Computes so many elements; `table` has the result of each code of a and b, [256, 256].
  void run(const uint8_t* table, const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* to) const;

  bool is_product = false;
  bool a_signed = false, b_signed = false, result_signed = false;
  float a_factor = 0, b_factor = 0, offset = 0, a_zero = 0, b_zero = 0;
  float most_certain = 0;  // distance from an integer up to which rounding goes there
  int32_t zero_point = 0;
};

}  // namespace vernier::cpu

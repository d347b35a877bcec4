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

}  // namespace vernier::cpu

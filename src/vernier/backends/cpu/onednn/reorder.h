#pragma once

#include "vernier/exec/kernel_source.h"

namespace vernier::cpu {

// Copies an operand into another layout; any element type of 1, 2, 4 or 8 bytes.
std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to);

}  // namespace vernier::cpu

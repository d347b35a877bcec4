#pragma once

#include "vernier/exec/backend.h"

namespace vernier::cpu {

// Copies an operand into another layout; any element type but strings.
std::unique_ptr<Kernel> make_reorder(const Operand& from, Layout to);

}  // namespace vernier::cpu

// Operands that cannot be drawn, since what they say must fit the sizes of others.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// What the operand would hold in the run that takes longest, e.g. lengths of which all is used; nothing for
// those that may be drawn, or of which nothing is known.
std::optional<Tensor> fitted_operand(const KernelRequest& request, size_t input);

}  // namespace vernier

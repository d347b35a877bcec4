// The data that the kernels of a request are tried on.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// Operands that cannot be drawn, since what they say must fit the sizes of others.

// Gives the operand as it would be in the run that takes longest, e.g. full lengths; nothing for operands
// that may be drawn, or of which nothing is known.
std::optional<Tensor> fitted_operand(const KernelRequest& request, size_t input);

// Operands by input, as the model has them and as they lie in memory; undefined where one is left out.
struct TrialOperands {
  std::vector<Tensor> plain, laid_out;
};

// Whether the reference can judge: operands are floats, bytes, flags that are read, and constants of any
// type.
bool can_draw(const KernelRequest& request);

// Takes constants as they are, draws floats, integers of 8 bits and bools (three in four are true), and gives
// zeros for other types, which are valid indices.
TrialOperands drawn_operands(const KernelRequest& request, const Backend& kernels);

// The same with a NaN and both infinities among the floats that were drawn.
TrialOperands with_special_values(const TrialOperands& drawn, const KernelRequest& request,
                                  const Backend& kernels);

}  // namespace vernier

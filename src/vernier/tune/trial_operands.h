// The data that the kernels of a request are tried on.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// Operands that cannot be drawn, since what they say must fit the sizes of others.

// What the operand would hold in the run that takes longest, e.g. lengths of which all is used; nothing for
// those that may be drawn, or of which nothing is known.
std::optional<Tensor> fitted_operand(const KernelRequest& request, size_t input);

// Operands by input, as the model has them and as they lie in memory; undefined where one is left out.
struct TrialOperands {
  std::vector<Tensor> plain, laid_out;
};

// Whether the reference can judge: operands are floats, bytes, flags that are read, and constants of any
// type.
bool can_draw(const KernelRequest& request);

// What is constant as it is; floats, bytes and bools, of which three in four are true, at random; of other
// types zeros, which are valid indices.
TrialOperands drawn_operands(const KernelRequest& request, const Backend& kernels);

// The same with a NaN and both infinities among the floats that were drawn.
TrialOperands with_special_values(const TrialOperands& drawn, const KernelRequest& request,
                                  const Backend& kernels);

}  // namespace vernier

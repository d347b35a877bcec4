// Writes the epilogue of int8 products as a pointwise program.
#pragma once

#include "vernier/backends/cuda/quantization/contraction.h"

namespace vernier::cuda {

// Sums as they come from a product of int8, whose factors may have been moved by 128, with what their
// correction needs.
struct Int8Sums {
  CudaKernel::Place sums;
  int64_t columns = 0;  // from row to row of the sums, as many as the contraction has or more
  std::optional<CudaKernel::Place> a_sums,
      b_sums;                    // of each row of a and of b; none where nothing is to be taken off
  int a_shift = 0, b_shift = 0;  // what the factors, and so their zero points, are less
};

// Adds the launch that takes off what zero points add, and does what the operator, or the group, does to the
// sums: of integers exactly; of QLinear operators in double, with the quotient by the scale rounded to float,
// as their definition says; of groups as their nodes one by one, but for the operands of the contraction,
// which are not rounded. Sets the contract. False, with `reason`, for what cannot follow.
bool add_epilogue(CudaKernel& kernel, const KernelRequest& request, const Int8Contraction& asked,
                  const Int8Sums& sums, std::string& reason);

}  // namespace vernier::cuda

// The launches of a recurrent operator behind the product of its inputs with W.
#pragma once

#include "vernier/backends/cuda/cuda_kernel.h"
#include "vernier/backends/shared/recurrent/recurrent_layer.h"

namespace vernier::cuda {

// Weights R of a direction, in bytes, that one block reads in less time than a launch takes.
inline constexpr int64_t kMostLooped = int64_t{256} << 10;

// In which states are kept from step to step, and products are summed.
ElementType state_type(ElementType element);

// Adds them: a block for each direction of some sequences, which walks through time, where R is no larger
// than `most_looped`; else a launch for each step, of blocks that share the units. `projected` is
// [rows of X, directions * gates * hidden], of the type of states.
void add_steps(CudaKernel& kernel, const KernelRequest& request, const RecurrentLayer& layer,
               const CudaKernel::Place& projected, int64_t most_looped);

}  // namespace vernier::cuda

// Tensors in other layouts than row-major.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

// The tensor, which lies in memory as `from` says, in another layout: of the sizes of the operand if that is
// row-major, else of those that it has in memory (Operand::memory_dims). Itself if it lies so already.
Tensor laid_out(const Backend& kernels, const Tensor& tensor, const Operand& from, Layout to);

}  // namespace vernier

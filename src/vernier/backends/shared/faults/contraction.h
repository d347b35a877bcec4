// Matrix products and convolutions whose sums go wrong as they do in real kernels: product by product.
#pragma once

#include "vernier/backends/shared/faults/fault.h"
#include "vernier/exec/backend.h"

namespace vernier {

// Whether the fault can go into the sums of this node: MatMul, Gemm or Conv of floats.
bool sums_products(const Node& node, const Operand& first);
// Null, with `reason`, for operands in a layout of images.
std::unique_ptr<Kernel> make_faulty_sums(Fault fault, const KernelRequest& request, std::string& reason);

}  // namespace vernier

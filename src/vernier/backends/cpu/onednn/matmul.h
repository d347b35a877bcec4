// Matrix products by oneDNN share this.
#pragma once

#include "vernier/backends/cpu/onednn/primitive.h"

namespace vernier::cpu {

// Matrices with equal ranks; the strides say what is transposed.
struct Product {
  Dims a, b, y;
  bool transpose_a = false, transpose_b = false;
};

// The product as few dimensions as possible: the rows of all matrices of `a` are rows of one where `b` is one
// matrix.
Product product_of(const Node& node, const Operand& a, const Operand& b, const Operand& y);

dnnl::memory::desc matrix(dnnl::memory::data_type type, const Dims& dims, bool transposed);

dnnl::matmul::primitive_desc describe_matmul(const dnnl::memory::desc& a, const dnnl::memory::desc& b,
                                             const std::optional<dnnl::memory::desc>& bias,
                                             const dnnl::memory::desc& y,
                                             const dnnl::primitive_attr& attributes);

// alpha and C of a Gemm come first in the epilogue; false for a beta that would need more.
bool prepend_gemm(Fused& fused);

// The operands of post-ops, as the flattened product sees them.
KernelRequest flattened(const KernelRequest& request, const Product& product);

}  // namespace vernier::cpu

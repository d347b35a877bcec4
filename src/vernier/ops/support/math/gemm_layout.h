// The operands of Gemm-like operators, matrices that are transposed if the attributes transA and transB say
// so.
#pragma once

#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/matmul.h"

namespace vernier::ops {

struct GemmLayout {
  bool transpose_a, transpose_b;

  explicit GemmLayout(const Node& node)
      : transpose_a(integer_attribute(node, "transA") != 0),
        transpose_b(integer_attribute(node, "transB") != 0) {}

  // The shape of the product; throws bad_input for other ranks than 2 and for matrices that cannot be
  // multiplied.
  template <class Size>
  std::vector<Size> product(std::vector<Size> a, std::vector<Size> b) const {
    if (a.size() != 2 || b.size() != 2) throw bad_input("matrices of ranks {} and {}", a.size(), b.size());
    if (transpose_a) std::swap(a[0], a[1]);
    if (transpose_b) std::swap(b[0], b[1]);
    return matmul_shape(std::move(a), std::move(b));
  }

  // The product of two operands of these sizes, before transposition.
  template <class T>
  std::vector<T> multiply(const T* a, const Dims& a_dims, const T* b, const Dims& b_dims) const {
    const Dims dims = product(a_dims, b_dims);
    std::vector<T> result(static_cast<size_t>(element_count(dims)));
    gemm(transpose_a, transpose_b, dims[0], dims[1], a_dims[transpose_a ? 0 : 1], a, a_dims[1], b, b_dims[1],
         result.data(), dims[1]);
    return result;
  }
};

// OpDef::flops of operators whose product is of inputs 0 and 1.
inline double gemm_flops(const Node& node, const std::vector<Dims>& inputs,
                         const std::vector<Dims>& outputs) {
  if (inputs.empty() || inputs[0].size() != 2 || outputs.empty()) return 0;
  return 2.0 * static_cast<double>(element_count(outputs[0])) *
         static_cast<double>(inputs[0][GemmLayout(node).transpose_a ? 0 : 1]);
}

}  // namespace vernier::ops

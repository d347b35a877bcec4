#include "vernier/ops/support/batched_matmul.h"

#include "vernier/ops/support/gemm.h"
#include "vernier/ops/support/strides.h"

namespace vernier::ops {

Shape matmul_shape(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) throw bad_input("a matrix product takes no scalars");
  const Dim &left = a.back(), &right = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (left.is_constant() && right.is_constant() && left != right) {
    throw bad_input("matrices {} and {} cannot be multiplied", shape_text(a), shape_text(b));
  }
  const auto batch = [](const Shape& shape) {
    return shape.size() < 2 ? Shape() : Shape(shape.begin(), shape.end() - 2);
  };
  Shape result = broadcast(batch(a), batch(b));
  if (a.size() > 1) result.push_back(a[a.size() - 2]);
  if (b.size() > 1) result.push_back(b.back());
  return result;
}

std::vector<double> batched_matmul(const double* a, const Dims& a_dims, const double* b, const Dims& b_dims) {
  const Dims out = *to_dims(matmul_shape(to_shape(a_dims), to_shape(b_dims)));
  std::vector<double> result(static_cast<size_t>(element_count(out)));
  if (result.empty()) return result;
  const int64_t k = a_dims.back(), m = a_dims.size() > 1 ? a_dims[a_dims.size() - 2] : 1,
                n = b_dims.size() > 1 ? b_dims.back() : 1;
  const Dims a_batch(a_dims.begin(), a_dims.size() > 1 ? a_dims.end() - 2 : a_dims.begin());
  const Dims b_batch(b_dims.begin(), b_dims.size() > 1 ? b_dims.end() - 2 : b_dims.begin());
  if (element_count(b_batch) == 1 && b_batch.size() <= a_batch.size()) {  // one matrix for all: one product
    gemm(false, false, element_count(a_batch) * m, n, k, a, k, b, n, result.data(), n);
    return result;
  }
  const Dims batch = broadcast(a_batch, b_batch);
  const auto a_strides = broadcast_strides(a_batch, batch), b_strides = broadcast_strides(b_batch, batch);
  int64_t position = 0;
  for_each_index(batch, [&](const Dims& index) {
    int64_t a_at = 0, b_at = 0;
    for (size_t i = 0; i < index.size(); ++i) {
      a_at += index[i] * a_strides[i];
      b_at += index[i] * b_strides[i];
    }
    gemm(false, false, m, n, k, a + a_at * m * k, k, b + b_at * k * n, n, result.data() + position++ * m * n,
         n);
  });
  return result;
}

}  // namespace vernier::ops

#include "vernier/ops/support/math/matmul.h"

namespace vernier::ops {

void infer_matmul(InferContext& context, ElementType result) {
  context.set_output(0, result, std::nullopt);
  const auto &a = context.shape(0), &b = context.shape(1);
  if (a && b) context.set_output(0, result, matmul_shape(*a, *b));
}

double matmul_flops(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  if (inputs.empty() || inputs[0].empty() || outputs.empty()) return 0;
  return 2.0 * static_cast<double>(inputs[0].back()) * static_cast<double>(element_count(outputs[0]));
}

template <class T>
std::vector<T> matmul(std::span<const T> a, Dims a_dims, std::span<const T> b, Dims b_dims) {
  std::vector<T> result(static_cast<size_t>(element_count(matmul_shape(a_dims, b_dims))));
  if (a_dims.size() == 1) a_dims.insert(a_dims.begin(), 1);
  if (b_dims.size() == 1) b_dims.push_back(1);
  const int64_t m = a_dims[a_dims.size() - 2], k = a_dims.back(), n = b_dims.back();
  const Dims a_batch(a_dims.begin(), a_dims.end() - 2), b_batch(b_dims.begin(), b_dims.end() - 2);
  if (element_count(b_batch) == 1) {  // one matrix on the right: the batches on the left are more rows
    gemm(false, false, element_count(a_batch) * m, n, k, a.data(), k, b.data(), n, result.data(), n);
    return result;
  }
  const Dims batch = broadcast(a_batch, b_batch);
  const auto a_strides = broadcast_strides(a_batch, batch), b_strides = broadcast_strides(b_batch, batch);
  T* c = result.data();
  for_each_index(batch, [&](const Dims& index) {
    int64_t a_at = 0, b_at = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      a_at += index[axis] * a_strides[axis];
      b_at += index[axis] * b_strides[axis];
    }
    gemm(false, false, m, n, k, a.data() + a_at * m * k, k, b.data() + b_at * k * n, n, c, n);
    c += m * n;
  });
  return result;
}

template std::vector<double> matmul(std::span<const double>, Dims, std::span<const double>, Dims);
template std::vector<int64_t> matmul(std::span<const int64_t>, Dims, std::span<const int64_t>, Dims);

}  // namespace vernier::ops

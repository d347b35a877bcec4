#include "vernier/ops/support/quant/packed_weights.h"

#include "vernier/ops/support/math/gemm.h"

namespace vernier::ops {

void require_extents(int64_t n, int64_t k) {
  if (n < 1 || k < 1 || n > kMaxWeightExtent || k > kMaxWeightExtent)
    throw bad_input("a weight of {} x {} elements", n, k);
}

void require_size(const ReferenceContext& context, size_t input, int64_t size, const char* what) {
  if (context.in(input).size() != size)
    throw bad_input("{} must have {} elements, not {}", what, size, context.in(input).size());
}

std::span<const uint8_t> packed_bytes(const ReferenceContext& context, size_t input, int64_t size,
                                      const char* what) {
  require_size(context, input, size, what);
  const Tensor& tensor = context.in(input);
  if (tensor.type() != ElementType::kUint8)
    throw bad_input("{} must be packed as UINT8, not {}", what, element_type_name(tensor.type()));
  return tensor.values<uint8_t>();
}

void infer_last_axis(InferContext& context, size_t input, int64_t size, int64_t result) {
  auto shape = context.shape(input);
  if (shape) {
    if (shape->empty()) throw bad_input("input {} is a scalar", input);
    if (shape->back().is_constant() && shape->back() != Dim(size))
      throw bad_input("input {} is {} and does not end with {}", input, shape_text(*shape), size);
    shape->back() = result;
  }
  context.set_output(0, context.element(input), std::move(shape));
}

std::vector<double> unpacked_rows(std::span<const uint8_t> bytes, int64_t rows, int64_t count, int64_t bits) {
  const int64_t row_bytes = (count * bits + 7) / 8;
  std::vector<double> result(static_cast<size_t>(rows * count));
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* packed = bytes.data() + row * row_bytes;
    for (int64_t i = 0; i < count; ++i)
      result[static_cast<size_t>(row * count + i)] = static_cast<double>(unpacked(packed, i, bits));
  }
  return result;
}

std::vector<double> times_transposed(std::span<const double> a, std::span<const double> b, int64_t n,
                                     int64_t k) {
  const int64_t rows = static_cast<int64_t>(a.size()) / k;
  std::vector<double> product(static_cast<size_t>(rows * n));
  gemm(false, true, rows, n, k, a.data(), k, b.data(), k, product.data(), n);
  return product;
}

}  // namespace vernier::ops

// Corresponding elements of two tensors, brought to double, a block at a time.
#pragma once

#include <array>
#include <span>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Elements [first, first + out.size()) as double; for every type but strings and complex.
void read_reals(const Tensor& tensor, int64_t first, std::span<double> out);

struct ElementBlock {
  static constexpr int64_t kCapacity = 1024;
  int64_t first = 0, count = 0;
  // The elements; the magnitudes of complex ones (NaN where a part is NaN).
  std::array<double, kCapacity> reference, actual;
  // |actual - reference|: 0 where both are equal, Infs included, and only there. Exact for 64-bit integers,
  // which may differ although they are equal as double.
  std::array<double, kCapacity> error;
  // Real part of conj(reference) * actual.
  std::array<double, kCapacity> product;

  // Both tensors have the same dims and hold [first, first + count). They store one type, or both of them
  // real types.
  void load(const Tensor& reference_tensor, const Tensor& actual_tensor, int64_t first, int64_t count);
};

}  // namespace vernier

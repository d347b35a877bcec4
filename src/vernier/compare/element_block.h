// Corresponding elements of two tensors, brought to double, a block at a time.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "vernier/base/threads.h"
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

// Adds all blocks of two tensors up: `add(part, block)` for each block of a range, then `Part::merge` of the
// ranges in their order, so that the result does not depend on the number of threads. Same conditions as
// ElementBlock::load.
template <class Part, class Add>
Part sum_blocks(const Tensor& reference, const Tensor& actual, const Add& add) {
  constexpr int64_t kRange = int64_t{1} << 16;
  const int64_t size = reference.size();
  std::vector<Part> parts(static_cast<size_t>((size + kRange - 1) / kRange));
  parallel_for(static_cast<int64_t>(parts.size()), 1, [&](int64_t begin, int64_t end) {
    const auto block = std::make_unique<ElementBlock>();
    for (int64_t part = begin; part < end; ++part) {
      const int64_t last = std::min(size, (part + 1) * kRange);
      for (int64_t first = part * kRange; first < last; first += ElementBlock::kCapacity) {
        block->load(reference, actual, first, std::min(ElementBlock::kCapacity, last - first));
        add(parts[static_cast<size_t>(part)], *block);
      }
    }
  });
  Part total;
  for (const Part& part : parts) total.merge(part);
  return total;
}

}  // namespace vernier

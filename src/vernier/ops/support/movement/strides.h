// Walks over broadcast and strided index spaces.
#pragma once

#include <array>

#include "vernier/base/threads.h"
#include "vernier/tensor/tensor_type.h"

namespace vernier::ops {

// Row-major strides in elements.
inline std::vector<int64_t> strides_of(const Dims& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// Strides of an array of sizes `dims` seen as one of sizes `out`: 0 along broadcast axes.
inline std::vector<int64_t> broadcast_strides(const Dims& dims, const Dims& out) {
  const auto own = strides_of(dims);
  std::vector<int64_t> strides(out.size(), 0);
  const size_t offset = out.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) strides[offset + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

// Product of dims[first, last).
inline int64_t product(const Dims& dims, size_t first, size_t last) {
  int64_t result = 1;
  for (size_t i = first; i < last; ++i) result *= dims[i];
  return result;
}

// Calls body(out_begin, count, offsets, steps) over rows that cover an index space of sizes `out`, in
// parallel; element i of the row lies at offsets[k] + i * steps[k] of array k, whose sizes broadcast to
// `out`.
template <size_t N, class Body>
void for_each_broadcast(const Dims& out, std::array<const Dims*, N> arrays, Body body) {
  const int64_t total = element_count(out);
  if (total == 0) return;
  std::array<std::vector<int64_t>, N> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = broadcast_strides(*arrays[k], out);
  // The longest tail along which every array is contiguous, or constant, makes one row.
  size_t inner = out.size();
  int64_t row = 1;
  std::array<int64_t, N> steps{};
  for (size_t axis = out.size(); axis-- > 0;) {
    bool joins = true;
    std::array<int64_t, N> wanted = steps;
    for (size_t k = 0; k < N; ++k) {
      if (out[axis] == 1) continue;
      if (row == 1)
        wanted[k] = strides[k][axis];
      else
        joins = joins && strides[k][axis] == steps[k] * row;
    }
    if (!joins) break;
    steps = wanted;
    row *= out[axis];
    inner = axis;
  }
  const Dims outer(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(inner));
  const int64_t rows = total / row;
  const auto run_row = [&](int64_t index, int64_t begin, int64_t count) {
    std::array<int64_t, N> offsets{};
    int64_t rest = index;
    for (size_t axis = outer.size(); axis-- > 0;) {
      const int64_t at = rest % outer[axis];
      rest /= outer[axis];
      for (size_t k = 0; k < N; ++k) offsets[k] += at * strides[k][axis];
    }
    for (size_t k = 0; k < N; ++k) offsets[k] += begin * steps[k];
    body(index * row + begin, count, offsets, steps);
  };
  constexpr int64_t kGrain = 1 << 14;
  if (rows == 1) {
    parallel_for(row, kGrain, [&](int64_t begin, int64_t end) { run_row(0, begin, end - begin); });
  } else {
    parallel_for(rows, std::max<int64_t>(1, kGrain / row), [&](int64_t begin, int64_t end) {
      for (int64_t index = begin; index < end; ++index) run_row(index, 0, row);
    });
  }
}

// Calls visit(index) with every multi-index of `dims` in row-major order.
template <class Visit>
void for_each_index(const Dims& dims, Visit visit) {
  if (element_count(dims) == 0) return;
  Dims index(dims.size(), 0);
  for (;;) {
    visit(static_cast<const Dims&>(index));
    size_t axis = dims.size();
    while (axis > 0 && ++index[axis - 1] == dims[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

}  // namespace vernier::ops

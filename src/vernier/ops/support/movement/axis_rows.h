// A tensor seen as rows along one axis.
#pragma once

#include "vernier/base/threads.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::ops {

struct AxisRows {
  int64_t outer = 1, length = 1, inner = 1;  // element i of a row lies `inner` elements behind element i - 1

  AxisRows(const Dims& dims, int64_t axis) {
    const auto at = static_cast<size_t>(normalize_axis(axis, static_cast<int64_t>(dims.size())));
    outer = product(dims, 0, at);
    length = dims[at];
    inner = product(dims, at + 1, dims.size());
  }

  int64_t count() const { return outer * inner; }
  // Position of the first element of a row in an array whose rows have `row_length` elements.
  int64_t start(int64_t row, int64_t row_length) const {
    return row / inner * row_length * inner + row % inner;
  }
  int64_t start(int64_t row) const { return start(row, length); }
};

// Calls body(row) for every row, in parallel.
template <class Body>
void for_each_row(const AxisRows& rows, Body body) {
  parallel_for(rows.count(), std::max<int64_t>(1, 4096 / std::max<int64_t>(1, rows.length)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) body(row);
               });
}

}  // namespace vernier::ops

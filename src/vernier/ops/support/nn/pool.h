// The pools share these: shapes, and a walk over all taps of all windows of one plane.
#pragma once

#include "vernier/base/threads.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier::ops {

// Sets the pooled shape of input 0 as the shape of every output; output 1 (indices) is of INT64.
void infer_pool(InferContext& context);

WindowAxes pool_axes(const Node& node, const Dims& x);

// Calls visit(window, element) with every tap that lies inside the plane: the windows of one row are visited
// tap by tap, so that each window meets its taps in row-major order.
template <class Visit>
void for_each_tap(const WindowAxes& axes, Visit visit) {
  const WindowAxis& last = axes.back();
  const int64_t rows = output_count(axes) / std::max<int64_t>(1, last.output),
                tap_rows = tap_count(axes) / last.kernel;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t tap_row = 0; tap_row < tap_rows; ++tap_row) {
      const int64_t source = input_row(axes, row, tap_row);
      if (source < 0) continue;
      for (int64_t tap = 0; tap < last.kernel; ++tap) {
        const auto inside = last.windows_inside(tap);
        for (int64_t window = inside.begin; window < inside.end; ++window) {
          visit(row * last.output + window, source * last.input + last.at(window, tap));
        }
      }
    }
  }
}

// Calls body(plane index) for every plane (image and channel), in parallel.
template <class Body>
void for_each_plane(const Dims& x, Body body) {
  parallel_for(x[0] * x[1], 1, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) body(plane);
  });
}

// finish(sum of term(x) over the window, window) for every window of x [N, C, spatial...].
template <class Term, class Finish>
std::vector<double> pool_windows(const double* x, const Dims& dims, const WindowAxes& axes, Term term,
                                 Finish finish) {
  const int64_t plane_size = input_count(axes), windows = output_count(axes);
  std::vector<double> y(static_cast<size_t>(dims[0] * dims[1] * windows));
  for_each_plane(dims, [&](int64_t plane) {
    const double* elements = x + plane * plane_size;
    double* sums = y.data() + plane * windows;
    for_each_tap(axes, [&](int64_t window, int64_t at) { sums[window] += term(elements[at]); });
    for (int64_t window = 0; window < windows; ++window) sums[window] = finish(sums[window], window);
  });
  return y;
}
// The mean of every window, which padding widens where it is to be included.
std::vector<double> average_windows(const double* x, const Dims& dims, const WindowAxes& axes,
                                    bool include_padding);

// The attributes of all pools.
std::vector<AttributeSpec> pool_attributes(std::vector<AttributeSpec> more);

}  // namespace vernier::ops

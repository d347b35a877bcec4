#include "vernier/ops/support/nn/pool.h"

namespace vernier::ops {

namespace {

// Taps of each window that lie in the input, extended by the padding where it counts.
std::vector<double> divisors(const WindowAxes& axes, bool include_padding) {
  std::vector<double> result{1};
  for (const WindowAxis& axis : axes) {
    const int64_t first = include_padding ? -axis.pad_begin : 0,
                  last = axis.input + (include_padding ? axis.pad_end : 0);
    std::vector<double> wider;
    for (const double outer : result) {
      for (int64_t window = 0; window < axis.output; ++window) {
        int64_t taps = 0;
        for (int64_t tap = 0; tap < axis.kernel; ++tap)
          taps += axis.at(window, tap) >= first && axis.at(window, tap) < last;
        wider.push_back(outer * static_cast<double>(taps));
      }
    }
    result = std::move(wider);
  }
  return result;
}

}  // namespace

void infer_pool(InferContext& context) {
  const auto& x = context.shape(0);
  std::optional<Shape> result;
  if (x) {
    if (x->size() < 3) throw bad_input("a pool needs spatial axes, not {}", shape_text(*x));
    const size_t spatial_rank = x->size() - 2;
    const WindowAttributes window = window_attributes(context.node(), spatial_rank);
    const Shape kernel = required_kernel_shape(context.node(), spatial_rank);
    result = Shape{(*x)[0], (*x)[1]};
    for (size_t i = 0; i < spatial_rank; ++i)
      result->push_back(window_count(window, i, (*x)[i + 2], kernel[i]));
  }
  context.set_output(0, context.element(0), result);
  context.set_output(1, ElementType::kInt64, result);
}

WindowAxes pool_axes(const Node& node, const Dims& x) {
  const size_t spatial_rank = x.size() - 2;
  const Dims kernel = *to_dims(required_kernel_shape(node, spatial_rank));
  return window_axes(window_attributes(node, spatial_rank), std::span(x).subspan(2), kernel);
}

std::vector<double> average_windows(const double* x, const Dims& dims, const WindowAxes& axes,
                                    bool include_padding) {
  const auto counts = divisors(axes, include_padding);
  return pool_windows(
      x, dims, axes, [](double value) { return value; },
      [&](double sum, int64_t window) { return sum / counts[static_cast<size_t>(window)]; });
}

std::vector<AttributeSpec> pool_attributes(std::vector<AttributeSpec> more) {
  more.push_back({"ceil_mode", "INT"});
  return window_attribute_specs(std::move(more));
}

}  // namespace vernier::ops

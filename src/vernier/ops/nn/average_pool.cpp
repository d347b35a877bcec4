// AveragePool and LpPool. The divisor of an average counts the taps inside the input, and with
// count_include_pad (from opset 7) those in the padding, too; what ceil_mode adds beyond the padding never
// counts. LpPool takes padding as zeros; its p was a float before opset 2.
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/pool.h"

namespace vernier::ops {

namespace {

// Taps of each window that lie in the input, widened by the padding where it counts.
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

// Sums term(x) over every window, then stores finish(sum, window).
template <class Term, class Finish>
void pool(ReferenceContext& context, const WindowAxes& axes, Term term, Finish finish) {
  const Dims& dims = context.dims(0);
  const auto x = context.reals(0);
  const int64_t plane_size = input_count(axes), windows = output_count(axes);
  std::vector<double> y(static_cast<size_t>(dims[0] * dims[1] * windows));
  for_each_plane(dims, [&](int64_t plane) {
    const double* elements = x.data() + plane * plane_size;
    double* sums = y.data() + plane * windows;
    for_each_tap(axes, [&](int64_t window, int64_t at) { sums[window] += term(elements[at]); });
    for (int64_t window = 0; window < windows; ++window) sums[window] = finish(sums[window], window);
  });
  context.store(0, y);
}

void average(ReferenceContext& context) {
  const WindowAxes axes = pool_axes(context.node(), context.dims(0));
  const auto counts = divisors(axes, context.attribute<int64_t>("count_include_pad", 0) != 0);
  pool(
      context, axes, [](double x) { return x; },
      [&](double sum, int64_t window) { return sum / counts[static_cast<size_t>(window)]; });
}

void lp(ReferenceContext& context) {
  const WindowAxes axes = pool_axes(context.node(), context.dims(0));
  const double p = context.version() == 1 ? context.attribute<float>("p", 2)
                                          : static_cast<double>(context.attribute<int64_t>("p", 2));
  pool(
      context, axes, [p](double x) { return p == 2 ? x * x : std::pow(std::abs(x), p); },
      [p](double sum, int64_t) { return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p); });
}

}  // namespace

void register_average_pool(OpRegistry& registry) {
  registry.add({.op = "AveragePool",
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = pool_attributes({{"count_include_pad", "INT"}}),
                .traits = kReduction,
                .infer = infer_pool,
                .reference = average});
  registry.add({.op = "LpPool",
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = pool_attributes({{"p", "INT"}}),
                .traits = kReduction,
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_pool,
                .reference = lp});
}

}  // namespace vernier::ops

#include "vernier/ops/support/resampling/resample.h"

#include "vernier/ops/support/movement/strides.h"
#include "vernier/ops/support/resampling/axis_taps.h"

namespace vernier::ops {

namespace {

// Sums along one axis of x, whose sizes are `dims` and become the new ones.
std::vector<double> sum_taps(std::span<const double> x, Dims& dims, size_t axis, const AxisTaps& taps) {
  const int64_t length = dims[axis], inner = product(dims, axis + 1, dims.size());
  dims[axis] = static_cast<int64_t>(taps.starts.size()) - 1;
  const int64_t outputs = dims[axis];
  std::vector<double> y(static_cast<size_t>(element_count(dims)));
  parallel_for(product(dims, 0, axis + 1), std::max<int64_t>(1, 4096 / std::max<int64_t>(1, inner)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t row = begin; row < end; ++row) {
                   const auto i = static_cast<size_t>(row % outputs);
                   double* sums = y.data() + row * inner;
                   for (size_t k = taps.starts[i]; k < taps.starts[i + 1]; ++k) {
                     const double* source = x.data() + (row / outputs * length + taps.indices[k]) * inner;
                     for (int64_t j = 0; j < inner; ++j) sums[j] += taps.weights[k] * source[j];
                   }
                 }
               });
  return y;
}

void store_sums(Tensor& y, std::vector<double> sums) {
  if (is_integer(y.type())) {
    const auto low = static_cast<double>(integer_min(y.type())),
               high = static_cast<double>(integer_max(y.type()));
    for (double& sum : sums) sum = std::clamp(std::nearbyint(sum), low, high);
  }
  y.write_doubles(0, sums);
}

// y[i, j, ...] = x[rows[0][i], rows[1][j], ...]
template <class T>
void gather(const Tensor& x, Tensor& y, const std::vector<std::vector<int64_t>>& sources) {
  const auto from = x.values<T>();
  const auto to = y.mutable_values<T>();
  const auto strides = strides_of(x.dims());
  const auto& last = sources.back();
  const auto width = static_cast<int64_t>(last.size());
  if (y.size() == 0) return;
  parallel_for(y.size() / width, std::max<int64_t>(1, 4096 / width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      int64_t base = 0, rest = row;
      for (size_t axis = sources.size() - 1; axis-- > 0;) {
        const auto size = static_cast<int64_t>(sources[axis].size());
        base += sources[axis][static_cast<size_t>(rest % size)] * strides[axis];
        rest /= size;
      }
      for (size_t i = 0; i < last.size(); ++i)
        to[static_cast<size_t>(row * width) + i] = from[static_cast<size_t>(base + last[i])];
    }
  });
}

void gather_nearest(const Tensor& x, Tensor& y, const std::vector<ResampleAxis>& axes,
                    const std::vector<AxisTaps>& taps) {
  std::vector<std::vector<int64_t>> sources(x.dims().size());
  for (size_t i = 0; i < sources.size(); ++i) {
    for (int64_t k = 0; k < x.dims()[i]; ++k) sources[i].push_back(k);
  }
  for (size_t i = 0; i < axes.size(); ++i) sources[axes[i].axis] = taps[i].indices;
  visit_element_type(x.type(), [&]<class T>(TypeTag<T>) { gather<T>(x, y, sources); });
}

// An element is outside if it is so along any axis.
void fill_outside(Tensor& y, const std::vector<ResampleAxis>& axes, const std::vector<AxisTaps>& taps,
                  double value) {
  if (std::none_of(taps.begin(), taps.end(), [](const AxisTaps& t) { return t.any_outside(); })) return;
  int64_t at = 0;
  for_each_index(y.dims(), [&](const Dims& index) {
    bool outside = false;
    for (size_t i = 0; i < axes.size(); ++i)
      outside = outside || taps[i].outside[static_cast<size_t>(index[axes[i].axis])];
    if (outside) y.write_doubles(at, {&value, 1});
    ++at;
  });
}

}  // namespace

Ratio ratio_of(double scale) {
  const auto wanted = static_cast<float>(scale);
  if (!(wanted > 0x1p-30F && wanted < 0x1p30F)) throw bad_input("a scale of {}", scale);
  // Convergents of the continued fraction, until one is the float.
  constexpr int64_t kLargestDenominator = 4096;
  int64_t numerator = 1, denominator = 0, last_numerator = 0, last_denominator = 1;
  for (double rest = wanted;;) {
    const auto whole = static_cast<int64_t>(rest);
    numerator = std::exchange(last_numerator, numerator) + whole * numerator;
    denominator = std::exchange(last_denominator, denominator) + whole * denominator;
    if (denominator > kLargestDenominator) break;
    if (static_cast<float>(static_cast<double>(numerator) / static_cast<double>(denominator)) == wanted)
      return {numerator, denominator};
    rest = 1 / (rest - static_cast<double>(whole));
  }
  constexpr int64_t kBinary = int64_t{1} << 30;
  return {static_cast<int64_t>(std::llround(static_cast<double>(wanted) * kBinary)), kBinary};
}

Interpolation interpolation_of(const std::string& mode) {
  if (mode == "nearest") return Interpolation::kNearest;
  if (mode == "linear" || mode == "bilinear" || mode == "trilinear") return Interpolation::kLinear;
  if (mode == "cubic" || mode == "bicubic") return Interpolation::kCubic;
  throw bad_input("interpolation mode '{}'", mode);
}

std::vector<double> resampled(std::span<const double> x, Dims dims, const ResampleRule& rule,
                              const std::vector<ResampleAxis>& axes) {
  std::vector<double> sums(x.begin(), x.end());
  for (const ResampleAxis& axis : axes) sums = sum_taps(sums, dims, axis.axis, axis_taps(axis, rule));
  return sums;
}

void resample(ReferenceContext& context, const ResampleRule& rule, const std::vector<ResampleAxis>& axes) {
  const Tensor& x = context.in(0);
  if (axes.empty()) return context.emit(0, x);
  Tensor& y = context.allocate(0);  // first: it refuses sizes that no memory holds
  if (y.size() == 0) return;
  if (x.size() == 0) throw bad_input("nothing to resample in {}", dims_text(x.dims()));
  std::vector<AxisTaps> taps;
  for (const ResampleAxis& axis : axes) taps.push_back(axis_taps(axis, rule));
  if (rule.interpolation == Interpolation::kNearest) {
    gather_nearest(x, y, axes, taps);
  } else {
    store_sums(y, resampled(context.reals(0).span(), x.dims(), rule, axes));
  }
  fill_outside(y, axes, taps, rule.extrapolation_value);
}

}  // namespace vernier::ops

#include "vernier/ops/support/nn/convolution.h"

#include <cmath>

#include "vernier/base/threads.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/gemm.h"
#include "vernier/ops/support/nn/im2col.h"
#include "vernier/ops/support/optional_reals.h"

namespace vernier::ops {

namespace {

// Elements of columns and sums at a time: 16 MB, large enough that packing the weights does not count.
constexpr int64_t kScratch = int64_t{1} << 21;

int64_t group_attribute(const Node& node) {
  const int64_t groups = integer_attribute(node, "group");
  if (groups < 1) throw bad_input("group is {}", groups);
  return groups;
}

void require_channels(const Shape& x, const Shape& w, int64_t groups) {
  if (!x[1].may_equal(w[1] * groups)) {
    throw bad_input("{} input channels do not fit weights {} in {} groups", x[1].text(), shape_text(w),
                    groups);
  }
  if (w[0].is_constant() && *w[0].constant() % groups != 0) {
    throw bad_input("{} output channels in {} groups", w[0].text(), groups);
  }
}

// The kernel's sizes from the weights or else the attribute; the two must agree.
Shape kernel_of(const InferContext& context, const std::optional<Shape>& w, size_t spatial_rank) {
  const bool given = context.node().find_attribute("kernel_shape") != nullptr;
  Shape kernel = given ? required_kernel_shape(context.node(), spatial_rank) : Shape();
  for (size_t i = 0; i < spatial_rank; ++i) {
    if (!w && !given) kernel.push_back(context.fresh("kernel"));
    if (!w) continue;
    const Dim& size = (*w)[i + 2];
    if (given && size.is_constant() && size != kernel[i]) {
      throw bad_input("kernel_shape {} is not that of the weights {}", shape_text(kernel), shape_text(*w));
    }
    if (size == Dim(0)) throw bad_input("weights {} have an empty kernel", shape_text(*w));
    if (!given) kernel.push_back(size);
  }
  return kernel;
}

// A kernel of one tap that neither strides nor pads is one long axis.
WindowAxes collapse(const WindowAxes& axes) {
  for (const WindowAxis& axis : axes) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.pad_begin != 0 || axis.pad_end != 0) return axes;
  }
  const int64_t count = input_count(axes);
  return {WindowAxis{.input = count, .output = count}};
}

// One filter over one plane, row by row: a matrix product with one row would waste the columns.
template <class T>
void convolve_plane(const WindowAxes& axes, const T* x, const double* weights, std::span<double> sums) {
  const WindowAxis& last = axes.back();
  const int64_t tap_rows = tap_count(axes) / last.kernel;
  for (int64_t row = 0; (row + 1) * last.output <= static_cast<int64_t>(sums.size()); ++row) {
    double* sum = sums.data() + row * last.output;
    for (int64_t tap_row = 0; tap_row < tap_rows; ++tap_row) {
      const int64_t source = input_row(axes, row, tap_row);
      for (int64_t tap = 0; tap < last.kernel; ++tap) {
        const double weight = weights[tap_row * last.kernel + tap];
        const auto inside = last.windows_inside(tap);
        if (!std::isfinite(weight)) {  // padding is multiplied like all else: 0 * Inf is NaN
          const int64_t begin = source < 0 ? last.output : inside.begin;
          for (int64_t i = 0; i < last.output; ++i) {
            if (i < begin || i >= inside.end) sum[i] += weight * 0;
          }
        }
        if (source < 0) continue;
        const T* elements = x + source * last.input + last.at(0, tap);
        if (last.stride == 1) {
          for (int64_t i = inside.begin; i < inside.end; ++i)
            sum[i] += weight * static_cast<double>(elements[i]);
        } else {
          for (int64_t i = inside.begin; i < inside.end; ++i)
            sum[i] += weight * static_cast<double>(elements[i * last.stride]);
        }
      }
    }
  }
}

template <class T>
void convolve_depthwise(const Convolution& convolution, const T* x, const double* weights,
                        const StoreSums& store) {
  const int64_t plane = input_count(convolution.axes), windows = output_count(convolution.axes),
                taps = tap_count(convolution.axes);
  const int64_t channels = convolution.all_out_channels();
  if (windows == 0) return;
  parallel_for(convolution.batch * channels, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> sums(static_cast<size_t>(windows));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / channels, channel = i % channels;
      std::fill(sums.begin(), sums.end(), 0.0);
      const T* source = x + (image * convolution.groups + channel / convolution.out_channels) * plane;
      convolve_plane(convolution.axes, source, weights + channel * taps, std::span(sums));
      store(image, channel, 0, sums);
    }
  });
}

}  // namespace

std::vector<AttributeSpec> convolution_attributes(std::vector<AttributeSpec> more) {
  more.push_back({"group", "INT"});
  return window_attribute_specs(std::move(more));
}

std::optional<Shape> convolution_shape(const InferContext& context, size_t x, size_t w) {
  const auto &input = context.shape(x), &weights = context.shape(w);
  if (!input) return std::nullopt;
  if (input->size() < 3) throw bad_input("a convolution needs spatial axes, not {}", shape_text(*input));
  if (weights && weights->size() != input->size()) {
    throw bad_input("weights {} have another rank than the input {}", shape_text(*weights),
                    shape_text(*input));
  }
  const int64_t groups = group_attribute(context.node());
  if (weights) require_channels(*input, *weights, groups);
  const size_t spatial_rank = input->size() - 2;
  const WindowAttributes window = window_attributes(context.node(), spatial_rank);
  const Shape kernel = kernel_of(context, weights, spatial_rank);
  Shape result{(*input)[0], weights ? (*weights)[0] : context.fresh("channels")};
  for (size_t i = 0; i < spatial_rank; ++i)
    result.push_back(window_count(window, i, (*input)[i + 2], kernel[i]));
  return result;
}

void require_channel_bias(const InferContext& context, size_t bias, const std::optional<Shape>& y) {
  if (!y || !context.has(bias)) return;
  const auto& shape = context.shape(bias);
  if (shape && (shape->size() != 1 || !(*shape)[0].may_equal((*y)[1])))
    throw bad_input("a bias {} for {} channels", shape_text(*shape), (*y)[1].text());
}

Convolution Convolution::of(const Node& node, const Dims& x, const Dims& w) {
  Convolution result;
  result.groups = group_attribute(node);
  result.batch = x[0];
  result.in_channels = w[1];
  result.out_channels = w[0] / result.groups;
  result.axes =
      window_axes(window_attributes(node, x.size() - 2), std::span(x).subspan(2), std::span(w).subspan(2));
  return result;
}

double convolution_flops(const Dims& w, const Dims& y) {
  double per_output = 2;
  for (size_t i = 1; i < w.size(); ++i) per_output *= static_cast<double>(w[i]);
  return per_output * static_cast<double>(element_count(y));
}

void convolve_columns(const Convolution& convolution, const double* weights, const FillColumns& fill,
                      const StoreSums& store) {
  const int64_t depth = convolution.in_channels * tap_count(convolution.axes),
                rows = convolution.out_channels;
  const int64_t windows = output_count(convolution.axes);
  if (convolution.batch == 0 || windows == 0 || rows == 0) return;
  const int64_t chunk = std::clamp<int64_t>(kScratch / (depth + rows), 1, windows);
  const auto columns = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(depth * chunk));
  const auto sums = std::make_unique_for_overwrite<double[]>(static_cast<size_t>(rows * chunk));
  for (int64_t unit = 0; unit < convolution.batch * convolution.groups; ++unit) {
    const int64_t image = unit / convolution.groups, group = unit % convolution.groups;
    for (int64_t first = 0; first < windows; first += chunk) {
      const int64_t count = std::min(chunk, windows - first);
      fill(image, group, first, count, columns.get());
      gemm(false, false, rows, count, depth, weights + group * rows * depth, depth, columns.get(), count,
           sums.get(), count);
      parallel_for(rows, std::max<int64_t>(1, (1 << 14) / count), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          store(image, group * rows + row, first, {sums.get() + row * count, static_cast<size_t>(count)});
        }
      });
    }
  }
}

template <class T>
void convolve(const Convolution& convolution, const T* x, const double* weights, const StoreSums& store) {
  if (convolution.in_channels == 1 && convolution.groups > 1)
    return convolve_depthwise(convolution, x, weights, store);
  Convolution collapsed = convolution;
  collapsed.axes = collapse(convolution.axes);
  const int64_t plane = input_count(convolution.axes);
  const auto fill = [&](int64_t image, int64_t group, int64_t first, int64_t count, double* columns) {
    const T* channels = x + (image * convolution.groups + group) * convolution.in_channels * plane;
    im2col(channels, convolution.in_channels, collapsed.axes, first, count, columns);
  };
  convolve_columns(collapsed, weights, fill, store);
}

template void convolve(const Convolution&, const float*, const double*, const StoreSums&);
template void convolve(const Convolution&, const double*, const double*, const StoreSums&);

std::vector<double> convolve_with_bias(const ReferenceContext& context, const Convolution& convolution,
                                       const double* x, const double* weights, size_t bias) {
  const int64_t channels = convolution.all_out_channels(), windows = output_count(convolution.axes);
  const auto biases = optional_reals(context, bias, channels);
  std::vector<double> y(static_cast<size_t>(convolution.batch * channels * windows));
  convolve(convolution, x, weights,
           [&](int64_t image, int64_t channel, int64_t first, std::span<double> sums) {
             double* out = y.data() + (image * channels + channel) * windows + first;
             for (const double sum : sums) *out++ = sum + biases[channel];
           });
  return y;
}

}  // namespace vernier::ops

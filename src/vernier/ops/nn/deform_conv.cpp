// DeformConv: a 2-D convolution whose taps are moved by offsets [N, offset_group * taps * 2, H', W'] (y
// before x), sampled bilinearly with zeros outside, and weighted by an optional mask [N, offset_group * taps,
// H', W'].
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/support/optional_reals.h"
#include "vernier/ops/support/require_shape.h"

namespace vernier::ops {

namespace {

void infer_deform_conv(InferContext& context) {
  const auto shape = convolution_shape(context, 0, 1);
  context.set_output(0, context.element(0), shape);
  if (!shape) return;
  if (shape->size() != 4)
    throw unsupported("DeformConv of an input of rank {}; only images (rank 4) are defined", shape->size());
  const int64_t offset_groups = context.attribute<int64_t>("offset_group", 1);
  const Shape& x = *context.shape(0);
  if (offset_groups < 1 || (x[1].is_constant() && *x[1].constant() % offset_groups != 0)) {
    throw bad_input("{} channels in {} offset groups", x[1].text(), offset_groups);
  }
  if (!context.shape(1)) return;
  const Dim taps = (*context.shape(1))[2] * (*context.shape(1))[3];
  require_shape(context, 2, {(*shape)[0], taps * offset_groups * 2, (*shape)[2], (*shape)[3]});
  require_shape(context, 3, {(*shape)[1]});
  require_shape(context, 4, {(*shape)[0], taps * offset_groups, (*shape)[2], (*shape)[3]});
}

struct Plane {
  const double* elements;
  int64_t height, width;

  double at(int64_t y, int64_t x) const {
    return y < 0 || y >= height || x < 0 || x >= width ? 0 : elements[y * width + x];
  }

  double sample(double y, double x) const {
    // Also false for NaN. What lies farther out than one pixel meets nothing but zeros.
    if (!(y > -1 && y < static_cast<double>(height) && x > -1 && x < static_cast<double>(width))) return 0;
    const double top = std::floor(y), left = std::floor(x);
    const auto i = static_cast<int64_t>(top), j = static_cast<int64_t>(left);
    const double down = y - top, right = x - left;
    return (1 - down) * ((1 - right) * at(i, j) + right * at(i, j + 1)) +
           down * ((1 - right) * at(i + 1, j) + right * at(i + 1, j + 1));
  }
};

struct DeformedColumns {
  const Convolution& convolution;
  int64_t offset_groups;
  Elements<double> x, offset, mask;  // mask may be empty

  // One tap of one input channel for windows [first, first + count).
  void fill_row(int64_t image, int64_t channel, int64_t tap, int64_t first, int64_t count,
                double* row) const {
    const WindowAxis &vertical = convolution.axes[0], &horizontal = convolution.axes[1];
    const int64_t channels = convolution.groups * convolution.in_channels,
                  windows = output_count(convolution.axes);
    const Plane plane{x.data() + (image * channels + channel) * vertical.input * horizontal.input,
                      vertical.input, horizontal.input};
    const int64_t map =
        (image * offset_groups + channel / (channels / offset_groups)) * tap_count(convolution.axes) + tap;
    const double *down = offset.data() + 2 * map * windows, *right = down + windows;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t window = first + i;
      const auto top = static_cast<double>(vertical.at(window / horizontal.output, tap / horizontal.kernel));
      const auto left =
          static_cast<double>(horizontal.at(window % horizontal.output, tap % horizontal.kernel));
      row[i] = plane.sample(top + down[window], left + right[window]);
      if (mask.size() > 0) row[i] *= mask[map * windows + window];
    }
  }

  void operator()(int64_t image, int64_t group, int64_t first, int64_t count, double* columns) const {
    const int64_t taps = tap_count(convolution.axes);
    parallel_for(convolution.in_channels * taps, 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        fill_row(image, group * convolution.in_channels + row / taps, row % taps, first, count,
                 columns + row * count);
      }
    });
  }
};

void reference_deform_conv(ReferenceContext& context) {
  const auto convolution = Convolution::of(context.node(), context.dims(0), context.dims(1));
  const auto weights = context.reals(1);
  const DeformedColumns columns{convolution, context.attribute<int64_t>("offset_group", 1), context.reals(0),
                                context.reals(2), context.has(4) ? context.reals(4) : Elements<double>()};
  const auto bias = optional_reals(context, 3, convolution.all_out_channels());
  Tensor& y = context.allocate(0);
  const int64_t windows = output_count(convolution.axes);
  convolve_columns(convolution, weights.data(), columns,
                   [&](int64_t image, int64_t channel, int64_t first, std::span<double> sums) {
                     for (double& sum : sums) sum += bias[channel];
                     y.write_doubles((image * convolution.all_out_channels() + channel) * windows + first,
                                     sums);
                   });
}

double flops_deform_conv(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>& outputs) {
  return convolution_flops(inputs[1], outputs[0]);
}

}  // namespace

void register_deform_conv(OpRegistry& registry) {
  registry.add({.op = "DeformConv",
                .operands = {Role::kData, Role::kWeight, Role::kCoordinates, Role::kBias, Role::kData},
                .optional_inputs = 2,
                .attributes = {{"dilations", "INTS"},
                               {"group", "INT"},
                               {"kernel_shape", "INTS"},
                               {"offset_group", "INT"},
                               {"pads", "INTS"},
                               {"strides", "INTS"}},
                .traits = kContraction | kConvolution,
                .precision = PrecisionClass::kAlways,
                .since = {22, 19},
                .output_channels = 0,
                .infer = infer_deform_conv,
                .reference = reference_deform_conv,
                .flops = flops_deform_conv});
}

}  // namespace vernier::ops

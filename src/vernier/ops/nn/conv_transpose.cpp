// ConvTranspose: the gradient of a convolution: every element of x [N, C, spatial...] adds its multiple of w
// [C, M / group, kernel...] to the output. An output_shape, or auto_pad, decides the padding instead of being
// decided by it. com.microsoft ConvTransposeWithDynamicPads: the pads are an input.
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/math/gemm.h"
#include "vernier/ops/support/nn/convolution.h"
#include "vernier/ops/support/nn/im2col.h"
#include "vernier/ops/support/optional_reals.h"

namespace vernier::ops {

namespace {

// Where the two operators have their further inputs.
struct Inputs {
  size_t pads, bias;
};
constexpr size_t kAbsent = 99;
constexpr Inputs kStandard{kAbsent, 2}, kDynamicPads{2, 3};

constexpr int64_t kScratch = int64_t{1} << 21;  // elements of columns at a time: 16 MB

struct Attributes {
  WindowAttributes window;
  std::vector<int64_t> output_padding, output_shape;  // output_shape is empty, or holds the spatial sizes
  int64_t groups = 1;

  Attributes(const Node& node, size_t spatial_rank) : window(window_attributes(node, spatial_rank)) {
    groups = integer_attribute(node, "group");
    if (groups < 1) throw bad_input("group is {}", groups);
    output_padding = node.attribute<std::vector<int64_t>>("output_padding", {});
    if (output_padding.empty()) output_padding.assign(spatial_rank, 0);
    output_shape = node.attribute<std::vector<int64_t>>("output_shape", {});
    // Some exporters write batch and channels, too.
    if (output_shape.size() == spatial_rank + 2)
      output_shape.erase(output_shape.begin(), output_shape.begin() + 2);
    const auto out_of_range = [](int64_t size) {
      return size < 0 || size > std::numeric_limits<int32_t>::max();
    };
    if (output_padding.size() != spatial_rank ||
        (!output_shape.empty() && output_shape.size() != spatial_rank) ||
        std::any_of(output_padding.begin(), output_padding.end(), out_of_range) ||
        std::any_of(output_shape.begin(), output_shape.end(), out_of_range)) {
      throw bad_input("output_padding or output_shape does not fit {} spatial axes", spatial_rank);
    }
  }

  void set_pads(const std::vector<int64_t>& pads) {
    const size_t rank = window.pads_begin.size();
    const auto out_of_range = [](int64_t pad) {
      return pad < 0 || pad > std::numeric_limits<int32_t>::max();
    };
    if (pads.size() != 2 * rank || std::any_of(pads.begin(), pads.end(), out_of_range))
      throw bad_input("{} pads for {} spatial axes; none may be negative or huge", pads.size(), rank);
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
    window.pads_begin.assign(pads.begin(), middle);
    window.pads_end.assign(middle, pads.end());
  }

  // The size before any padding is cut off.
  Dim full_size(size_t axis, const Dim& input, const Dim& kernel) const {
    return (input - 1) * window.strides[axis] + output_padding[axis] + (kernel - 1) * window.dilations[axis] +
           1;
  }

  Dim output_size(size_t axis, const Dim& input, const Dim& kernel) const {
    if (!output_shape.empty()) return output_shape[axis];
    switch (window.auto_pad) {
      case AutoPad::kSameUpper:
      case AutoPad::kSameLower: return input * window.strides[axis];
      case AutoPad::kValid: return full_size(axis, input, kernel);
      case AutoPad::kNotSet: break;
    }
    Dim size = full_size(axis, input, kernel) - window.pads_begin[axis] - window.pads_end[axis];
    if (size.is_constant() && *size.constant() < 0)
      throw bad_input("the padding leaves {} elements of axis {}", size.text(), axis + 2);
    return size;
  }

  WindowAxes axes(const Dims& x, const Dims& w) const {
    WindowAxes result;
    for (size_t i = 2; i < x.size(); ++i) result.push_back(axis(i - 2, x[i], w[i]));
    return result;
  }

 private:
  // The window axis whose input is the output of this operator and the other way round.
  WindowAxis axis(size_t i, int64_t input, int64_t kernel) const {
    WindowAxis result{
        .output = input, .kernel = kernel, .stride = window.strides[i], .dilation = window.dilations[i]};
    result.input = *output_size(i, input, kernel).constant();
    if (output_shape.empty() && window.auto_pad == AutoPad::kValid) return result;
    if (output_shape.empty() && window.auto_pad == AutoPad::kNotSet) {
      result.pad_begin = window.pads_begin[i];
    } else {
      const int64_t total = std::max<int64_t>(*full_size(i, input, kernel).constant() - result.input, 0);
      result.pad_begin = window.auto_pad == AutoPad::kSameUpper ? total / 2 : total - total / 2;
    }
    return result;
  }
};

void require_channels(const Shape& x, const Shape& w, int64_t groups) {
  const bool known = x[1].is_constant() && w[0].is_constant();
  if (w.size() != x.size() || (known && (x[1] != w[0] || *x[1].constant() % groups != 0))) {
    throw bad_input("weights {} do not fit the input {} in {} groups", shape_text(w), shape_text(x), groups);
  }
  for (size_t i = 2; i < w.size(); ++i) {
    if (w[i] == Dim(0)) throw bad_input("weights {} have an empty kernel", shape_text(w));
  }
}

template <const Inputs& inputs>
void infer_conv_transpose(InferContext& context) {
  context.set_output(0, context.element(0), std::nullopt);
  const auto &x = context.shape(0), &w = context.shape(1);
  if (!x) return;
  if (x->size() < 3) throw bad_input("a convolution needs spatial axes, not {}", shape_text(*x));
  const size_t spatial_rank = x->size() - 2;
  Attributes attributes(context.node(), spatial_rank);
  const auto pads = context.has(inputs.pads) ? context.ints(inputs.pads) : std::nullopt;
  if (pads) attributes.set_pads(*pads);
  if (w) {
    require_channels(*x, *w, attributes.groups);
    require_elements(context, inputs.bias, (*w)[1] * attributes.groups);
  }
  const bool given = !w && context.node().find_attribute("kernel_shape") != nullptr;
  const Shape kernel = given ? required_kernel_shape(context.node(), spatial_rank) : Shape();
  Shape result{(*x)[0], w ? (*w)[1] * attributes.groups : context.fresh("channels")};
  for (size_t i = 0; i < spatial_rank; ++i) {
    const Dim size = w ? (*w)[i + 2] : given ? kernel[i] : context.fresh("kernel");
    const bool known = pads || !context.has(inputs.pads);
    result.push_back(known ? attributes.output_size(i, (*x)[i + 2], size) : context.fresh("padded"));
  }
  context.set_output(0, context.element(0), std::move(result));
}

// Output channels [first, first + count) of one group of one image: columns = w^T x, then scattered to the
// planes.
struct Block {
  const double *x, *weights;
  int64_t in_channels, windows, weight_stride, count;
  const WindowAxes& axes;

  void add_to(double* planes, double* columns) const {
    gemm(true, false, count * tap_count(axes), windows, in_channels, weights, weight_stride, x, windows,
         columns, windows);
    col2im(columns, count, axes, planes);
  }
};

template <const Inputs& inputs>
void reference_conv_transpose(ReferenceContext& context) {
  const Dims &x_dims = context.dims(0), &w_dims = context.dims(1);
  Attributes attributes(context.node(), x_dims.size() - 2);
  if (context.has(inputs.pads)) attributes.set_pads(context.int_list(inputs.pads));
  const WindowAxes axes = attributes.axes(x_dims, w_dims);
  const int64_t groups = attributes.groups, in_channels = x_dims[1] / groups, out_channels = w_dims[1];
  const int64_t windows = output_count(axes), plane = input_count(axes), taps = tap_count(axes);
  const auto x = context.factors(0), weights = context.factors(1);
  const auto bias = optional_reals(context, inputs.bias, groups * out_channels);
  Tensor& y = context.allocate(0);
  if (y.size() == 0) return;
  const int64_t block =
      std::clamp<int64_t>(kScratch / std::max<int64_t>(1, taps * windows + plane), 1, out_channels);
  std::vector<double> columns(static_cast<size_t>(block * taps * windows)),
      planes(static_cast<size_t>(block * plane));
  for (int64_t unit = 0; unit < x_dims[0] * groups; ++unit) {
    for (int64_t first = 0; first < out_channels; first += block) {
      const int64_t count = std::min(block, out_channels - first),
                    channel = unit % groups * out_channels + first;
      for (int64_t c = 0; c < count; ++c) std::fill_n(planes.begin() + c * plane, plane, bias[channel + c]);
      const double* w = weights.data() + (unit % groups * in_channels * out_channels + first) * taps;
      Block{
          x.data() + unit * in_channels * windows, w, in_channels, windows, out_channels * taps, count, axes}
          .add_to(planes.data(), columns.data());
      y.write_doubles((unit / groups * groups * out_channels + channel) * plane,
                      {planes.data(), static_cast<size_t>(count * plane)});
    }
  }
}

double flops_conv_transpose(const Node&, const std::vector<Dims>& inputs, const std::vector<Dims>&) {
  double per_input = 2;
  for (size_t i = 1; i < inputs[1].size(); ++i) per_input *= static_cast<double>(inputs[1][i]);
  return per_input * static_cast<double>(element_count(inputs[0]));
}

}  // namespace

WindowAxes transposed_axes(const Node& node, const Dims& x, const Dims& w) {
  return Attributes(node, x.size() - 2).axes(x, w);
}

void register_conv_transpose(OpRegistry& registry) {
  OpDef def{.op = "ConvTranspose",
            .operands = {Role::kData, Role::kWeight, Role::kBias},
            .optional_inputs = 1,
            .attributes = convolution_attributes({{"output_padding", "INTS"}, {"output_shape", "INTS"}}),
            .traits = kContraction | kProducts | kConvolution,
            .precision = PrecisionClass::kAlways,
            .since = {22, 1},
            .output_channels = 1,
            .infer = infer_conv_transpose<kStandard>,
            .reference = reference_conv_transpose<kStandard>,
            .flops = flops_conv_transpose};
  registry.add(def);
  def.domain = "com.microsoft";
  def.op = "ConvTransposeWithDynamicPads";
  def.operands = {Role::kData, Role::kWeight, Role::kSizes, Role::kBias};
  def.optional_inputs = 2;
  def.traits &= ~kProducts;
  def.infer = infer_conv_transpose<kDynamicPads>;
  def.reference = reference_conv_transpose<kDynamicPads>;
  registry.add(std::move(def));
}

}  // namespace vernier::ops

// Convolutions share these: shapes, and the product of weights and columns in double, chunk by chunk.
#pragma once

#include <functional>

#include "vernier/ops/op_def.h"
#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier::ops {

// The attributes that all convolutions have, and `more`.
std::vector<AttributeSpec> convolution_attributes(std::vector<AttributeSpec> more = {});

// Shape of the convolution of input `x` [N, C, spatial...] by input `w` [M, C / group, kernel...]; nothing if
// the rank of x is unknown. Throws bad_input for sizes that do not fit together.
std::optional<Shape> convolution_shape(const InferContext& context, size_t x, size_t w);

// Throws bad_input if the optional input `bias` is known not to have one element for each channel of the
// result `y` [N, M, spatial...].
void require_channel_bias(const InferContext& context, size_t bias, const std::optional<Shape>& y);

// A convolution with every size known. Channels are those of one group.
struct Convolution {
  int64_t batch = 0, groups = 1, in_channels = 0, out_channels = 0;
  WindowAxes axes;

  static Convolution of(const Node& node, const Dims& x, const Dims& w);
  int64_t all_out_channels() const { return groups * out_channels; }
};

// ConvTranspose: the windows of the convolution whose gradient it is; its inputs are the output of the node.
WindowAxes transposed_axes(const Node& node, const Dims& x, const Dims& w);

// 2 * multiply-adds, for OpDef::flops of operators whose weights are input `w`.
double convolution_flops(const Dims& w, const Dims& y);

// Fills columns [in_channels * taps, count] for windows [first, first + count) of one group of one image.
using FillColumns =
    std::function<void(int64_t image, int64_t group, int64_t first, int64_t count, double* columns)>;
// Takes the sums of windows [first, first + values.size()) of one output channel; may change them. Called
// concurrently.
using StoreSums =
    std::function<void(int64_t image, int64_t channel, int64_t first, std::span<double> values)>;

// Sums of products of weights [M, in_channels * taps] and columns, in chunks of bounded memory.
void convolve_columns(const Convolution& convolution, const double* weights, const FillColumns& fill,
                      const StoreSums& store);

// The same for a plain convolution of x [N, C, spatial...]; T is float or double.
template <class T>
void convolve(const Convolution& convolution, const T* x, const double* weights, const StoreSums& store);

// Its sums [N, M, spatial...] plus the bias of each channel, an optional input.
std::vector<double> convolve_with_bias(const ReferenceContext& context, const Convolution& convolution,
                                       const double* x, const double* weights, size_t bias);

}  // namespace vernier::ops

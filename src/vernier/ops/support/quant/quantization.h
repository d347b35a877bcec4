// Affine quantization as QuantizeLinear, DequantizeLinear and the QLinear operators use it:
// real = (quantized - zero_point) * scale.
#pragma once

#include <cmath>

#include "vernier/base/threads.h"
#include "vernier/ops/infer_context.h"
#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// Smallest and largest finite value of an integer or a floating-point type.
struct ValueRange {
  double low, high;
};
ValueRange value_range(ElementType type);

// Into the range; NaN becomes the lowest value of an integer type.
inline double saturate(double value, ValueRange range) {
  return !(value >= range.low) ? range.low : std::min(value, range.high);
}

// The type in which a QuantizeLinear divides by its scale, whose type is given: FLOAT, FLOAT16, BFLOAT16 or
// DOUBLE.
ElementType division_type(const Node& node, ElementType scale);

// Which scale belongs to which element. An element of the quantized tensor is (outer, along, inner) of
// [outers, length, inners]; its scale has the index outer * outer_stride + along / block * block_stride +
// inner * inner_stride.
struct Granularity {
  int64_t outers = 1, length = 1, inners = 1;
  int64_t block = 1;
  int64_t outer_stride = 0, block_stride = 0, inner_stride = 0;
};
// Per tensor for a scale of one element, blocked where `block_size` is given, else per axis.
// Throws bad_input where the sizes do not fit.
Granularity granularity_of(const Dims& tensor, const Dims& scale, int64_t axis, int64_t block_size);

// For the inference of QuantizeLinear and DequantizeLinear (tensor, scale and zero point are the inputs 0 to
// 2). Throws bad_input where known sizes of scale or zero point do not fit: kernels take them at their word.
void require_granularity(const InferContext& context);

// Calls body(begin, count, scale, step) for rows that cover the tensor, in parallel: element begin + i has
// the scale with index scale + i * step.
template <class Body>
void for_each_scaled_row(const Granularity& grain, Body body) {
  constexpr int64_t kElements = 1 << 14;
  const auto run = [&](int64_t row, int64_t from, int64_t to) {
    const int64_t scale =
        row / grain.length * grain.outer_stride + row % grain.length / grain.block * grain.block_stride;
    body(row * grain.inners + from, to - from, scale + from * grain.inner_stride, grain.inner_stride);
  };
  const int64_t rows = grain.outers * grain.length;
  if (rows == 1) {
    parallel_for(grain.inners, kElements, [&](int64_t from, int64_t to) { run(0, from, to); });
  } else if (grain.inners > 0) {
    parallel_for(rows, std::max<int64_t>(1, kElements / grain.inners), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) run(row, 0, grain.inners);
    });
  }
}

// Scale and zero point of a whole tensor.
struct Affine {
  double scale = 1, zero_point = 0;
};
// From the inputs `scale` and `zero_point`, each of one element; a zero point left out is 0.
Affine affine_of(const ReferenceContext& context, size_t scale, size_t zero_point);

// The real values of a quantized input.
std::vector<double> dequantize(const ReferenceContext& context, size_t input, Affine affine);
// input - zero_point, where the sizes of the zero point, aligned to `parameter_dims`, broadcast to those of
// the input.
std::vector<double> subtract_zero_point(const ReferenceContext& context, size_t input, size_t zero_point,
                                        const Dims& parameter_dims);
// values *= scale, aligned to `parameter_dims` in the same way.
void multiply_scale(const ReferenceContext& context, size_t scale, const Dims& parameter_dims,
                    const Dims& dims, std::vector<double>& values);
// Sizes of an optional parameter with one element, or with one for each index of the first axis of `input`.
Dims first_axis_dims(const ReferenceContext& context, size_t parameter, size_t input);
// The real values of an input with one scale and zero point each, or one for each column (index of the last
// axis).
std::vector<double> dequantize_columns(const ReferenceContext& context, size_t input, size_t scale,
                                       size_t zero_point);

// Stores real values as quantized ones: divided by the scale in FLOAT (the type of scales, which decides what
// is a tie), rounded half to even, moved by the zero point, saturated. In ideal mode they are neither rounded
// nor saturated and the output is of doubles.
void store_quantized(ReferenceContext& context, size_t output, Dims dims, std::vector<double> values,
                     Affine affine);

}  // namespace vernier::ops

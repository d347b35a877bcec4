// Requantization of int32 accumulators in oneDNN: scales, zero points, and post-ops.
#pragma once

#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/backends/shared/quantized.h"

namespace vernier::cpu {

// Attributes, and the arguments of post-ops; nothing, with `reason`, for what oneDNN cannot do. `request` has
// the operands as the primitive sees them, `axis` is that of the channels of its result. The zero points of
// the operands are not in it.
//
// One rounding, half to even: what a QuantizeLinear or DequantizeLinear between would round in FLOAT is not
// rounded, so that a result may be one step off where it lies beside a tie.
std::optional<Epilogue> make_requantization(const QuantizedProduct& product, const KernelRequest& request,
                                            size_t axis, std::string& reason);

// The zero point of an operand, one for all; and one that a run gives, as DNNL_ARG_ATTR_ZERO_POINTS.
void set_zero_point(Epilogue& epilogue, int argument, double zero_point);
void set_given_zero_point(dnnl::primitive_attr& attributes, int argument);

// Known bytes as INT8: UINT8 is moved by 128, and so is its zero point.
struct SignedWeights {
  Tensor content;
  double zero_point = 0;
};
// Nothing if the zero points are not one for all.
std::optional<SignedWeights> signed_weights(const Tensor& weights, const std::vector<double>& zero_points);

inline constexpr double kSignedShift = 128;  // from UINT8 to INT8

// The bias of each channel in units of the sums, as FLOAT: that of the product, less what the zero point of
// `a` adds, given the sums of the weights of each channel. Nothing if it would be rounded by more than the
// result of the product is.
std::optional<std::vector<float>> bias_of_sums(const QuantizedProduct& product, double a_zero_point,
                                               const std::vector<double>& weight_sums);

}  // namespace vernier::cpu

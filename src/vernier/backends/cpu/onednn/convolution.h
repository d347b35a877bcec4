// Convolutions by oneDNN share this.
#pragma once

#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/exec/backend.h"
#include "vernier/ops/support/nn/convolution.h"

namespace vernier::cpu {

struct Geometry {
  dnnl::memory::dims strides, dilations, pads_begin, pads_end;
};

Geometry geometry_of(const ops::WindowAxes& axes);

// [M, C/g, k…] as oneDNN wants it with groups: [g, M/g, C/g, k…].
Dims weight_dims(const Dims& weights, int64_t groups);

dnnl::convolution_forward::primitive_desc describe_convolution(
    const dnnl::memory::desc& x, const dnnl::memory::desc& w, const std::optional<dnnl::memory::desc>& bias,
    const dnnl::memory::desc& y, const Geometry& g, const dnnl::primitive_attr& attributes,
    dnnl::algorithm algorithm = dnnl::algorithm::convolution_direct);

// Tells whether oneDNN computes it element by element, for want of better.
bool is_last_resort(std::string_view implementation);

// Whether oneDNN 2.6 may keep wrong sums of INT8 weights, which INT8 images and zero points of images need:
// where groups are multiplied one by one, its packing of some weights of one pixel (8 channels in and out,
// say) does.
bool may_sum_weights_wrongly(std::string_view implementation, const ops::Convolution& convolution,
                             bool has_zero_point);

// Convolutions of bfloat16 images whose channels do not fill what oneDNN multiplies at once.

// oneDNN multiplies bfloat16 in pairs of channels, and in rows of 32 where it uses tiles. What is missing in
// the last pair or row is filled up with channels of another pixel, times 0: a NaN or an infinity there
// becomes a NaN here. The kernel that this gives runs `kernel` where input `x` of the request is finite, else
// `exact`, in memory of its own.
std::unique_ptr<Kernel> where_finite(std::unique_ptr<Kernel> kernel, std::unique_ptr<Kernel> exact,
                                     const KernelRequest& request, int x);

}  // namespace vernier::cpu

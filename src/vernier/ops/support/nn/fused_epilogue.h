// Fused operators change the result of a contraction before it is stored: they add a bias, apply an
// activation.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

// values += factor * input, broadcast to `dims`; nothing where the input is left out.
void add_bias(const ReferenceContext& context, size_t input, const Dims& dims, std::vector<double>& values,
              double factor = 1);

// values = activation(values) in place, by ONNX's name of the operator ("": none). The parameters are its
// attributes (alpha, beta; min, max); those left out have ONNX's defaults.
void activate(const std::string& activation, std::span<const float> parameters, std::vector<double>& values);

}  // namespace vernier::ops

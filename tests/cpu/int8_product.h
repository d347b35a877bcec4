// A product or a convolution of int8 for a kernel under test.
#pragma once

#include "cpu/one_kernel.h"
#include "cpu/quantized_model.h"

namespace vernier {

struct Int8Case {
  Dims x, w;
  AttributeMap attributes = {};
};

inline Tensor int8_scales(const std::vector<double>& values) {
  return Tensor::from_doubles(ElementType::kFloat, {static_cast<int64_t>(values.size())}, values);
}

inline Tensor byte_scalar(double value, ElementType type = ElementType::kFloat) {
  return Tensor::from_doubles(type, {}, std::vector<double>{value});
}

// QLinearConv, or QLinearMatMul, with powers of two as scales, one for each channel.
inline cpu::OneKernel int8_product(const Int8Case& each, ElementType type, double zero_point,
                                   double result_scale, const char* tactic) {
  const bool conv = each.x.size() > 2;
  const int64_t columns = conv ? each.w[0] : each.w[1];
  std::vector<double> scales, bias;
  for (int64_t i = 0; i < columns; ++i) {
    scales.push_back(std::ldexp(1.0, -static_cast<int>(3 + i % 4)));
    bias.push_back(static_cast<double>(i * 3701 % 20011 - 9999));
  }
  const std::vector<double> zeros(static_cast<size_t>(columns));
  cpu::OneKernel kernel{
      {conv ? "QLinearConv" : "QLinearMatMul", 10, each.attributes},
      {bytes(type, each.x, 1), byte_scalar(0.25), byte_scalar(zero_point, type), bytes(kS8, each.w, 2),
       int8_scales(scales), Tensor::from_doubles(kS8, {columns}, zeros), byte_scalar(result_scale),
       byte_scalar(type == kU8 ? 131 : -3, type)},
      {1, 2, 3, 4, 5, 6, 7}};
  kernel.tactic = tactic;
  if (!conv) return kernel;
  kernel.layout = Layout::kChannelsLast;
  kernel.inputs.push_back(Tensor::from_doubles(ElementType::kInt32, {columns}, bias));
  kernel.constants.insert(8);
  return kernel;
}

}  // namespace vernier

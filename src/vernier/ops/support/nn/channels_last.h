// Images [N, spatial..., C] for operators that are written for [N, C, spatial...].
#pragma once

#include <algorithm>

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// Sizes of the other layout; the rank must be 2 at least.
template <class Size>
std::vector<Size> channels_first(std::vector<Size> dims) {
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return dims;
}
template <class Size>
std::vector<Size> channels_last(std::vector<Size> dims) {
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return dims;
}

// The elements in the other layout; `dims` are the sizes before.
std::vector<double> to_channels_first(std::span<const double> values, const Dims& dims);
std::vector<double> to_channels_last(std::span<const double> values, const Dims& dims);

// Infers output 0 by a rule that takes input 0 as [N, C, spatial...].
void infer_channels_last(InferContext& context, void (*infer)(InferContext&));

}  // namespace vernier::ops

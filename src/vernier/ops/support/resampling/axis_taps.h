// Where the elements of one resampled axis come from.
#pragma once

#include "vernier/ops/support/resampling/resample.h"

namespace vernier::ops {

// Element i is the sum over k in [starts[i], starts[i + 1]) of weights[k] * input element indices[k].
struct AxisTaps {
  std::vector<size_t> starts{0};
  std::vector<int64_t> indices;
  std::vector<double> weights;
  std::vector<bool> outside;  // elements that kTfCropAndResize places beyond the input

  bool any_outside() const { return std::find(outside.begin(), outside.end(), true) != outside.end(); }
};

AxisTaps axis_taps(const ResampleAxis& axis, const ResampleRule& rule);

}  // namespace vernier::ops

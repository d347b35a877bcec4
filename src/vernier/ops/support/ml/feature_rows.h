// Inputs of the operators of ai.onnx.ml: one row of features for each sample, [N, F]; [F] is one row.
#pragma once

#include "vernier/ops/reference_context.h"

namespace vernier::ops {

struct FeatureRows {
  int64_t count, width;
};

template <class Size>
std::pair<Size, Size> split_rows(const std::vector<Size>& sizes) {
  if (sizes.empty() || sizes.size() > 2)
    throw bad_input("features must be [N, F] or [F], not of rank {}", sizes.size());
  return {sizes.size() == 2 ? sizes[0] : Size(1), sizes.back()};
}

inline FeatureRows feature_rows(const ReferenceContext& context, size_t input = 0) {
  const auto [count, width] = split_rows(context.dims(input));
  return {count, width};
}

// The number of rows of input 0, as inference knows it.
inline Dim row_count(const InferContext& context) {
  context.element(0);
  return context.shape(0) ? split_rows(*context.shape(0)).first : context.fresh("rows");
}

}  // namespace vernier::ops

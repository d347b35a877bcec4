// The scores of linear models of ai.onnx.ml: features times coefficients plus intercepts.
#pragma once

#include "vernier/ops/support/math/gemm.h"
#include "vernier/ops/support/ml/feature_rows.h"

namespace vernier::ops {

// Row-major [rows, targets]; the node's coefficients are [targets, features]. Throws bad_input where they do
// not fit.
inline std::vector<double> linear_scores(const ReferenceContext& context, FeatureRows rows, int64_t targets) {
  const auto floats = context.attribute<std::vector<float>>("coefficients", {}),
             intercepts = context.attribute<std::vector<float>>("intercepts", {});
  if (std::ssize(floats) != targets * rows.width)
    throw bad_input("{} coefficients for {} targets of {} features", floats.size(), targets, rows.width);
  if (!intercepts.empty() && std::ssize(intercepts) != targets)
    throw bad_input("{} intercepts for {} targets", intercepts.size(), targets);
  std::vector<double> scores(static_cast<size_t>(rows.count * targets));
  for (size_t i = 0; i < scores.size() && !intercepts.empty(); ++i)
    scores[i] = intercepts[i % intercepts.size()];
  const std::vector<double> coefficients(floats.begin(), floats.end());
  gemm(false, true, rows.count, targets, rows.width, context.reals(0).data(), rows.width, coefficients.data(),
       rows.width, scores.data(), targets, true);
  return scores;
}

}  // namespace vernier::ops

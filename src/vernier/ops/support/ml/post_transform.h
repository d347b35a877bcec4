// Classifiers and regressors of ai.onnx.ml transform their scores so at the end.
#pragma once

#include <array>
#include <span>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier::ops {

// In the order of TreeEnsemble's numbers.
enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// From the node's attribute `post_transform`, a name or a number. Throws bad_input if it is neither.
PostTransform post_transform_of(const Node& node);

// Transforms one row of scores in place.
void apply(PostTransform transform, std::span<double> scores);

// The scores of two classes of which only the second's is known: the first has what is left of a
// probability, or the opposite of any other score.
inline std::array<double, 2> both_scores(double second, bool probability) {
  return {probability ? 1 - second : -second, second};
}

}  // namespace vernier::ops

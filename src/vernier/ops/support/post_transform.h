// What classifiers and regressors of ai.onnx.ml do to their scores at the end.
#pragma once

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

}  // namespace vernier::ops

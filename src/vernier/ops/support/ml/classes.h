// The end of a classifier of ai.onnx.ml: scores to labels.
#pragma once

#include "vernier/ops/reference_context.h"
#include "vernier/ops/support/ml/post_transform.h"

namespace vernier::ops {

// The labels, which are strings or integers.
class Classes {
 public:
  // `ints` is the name of the attribute with integer labels: classlabels_ints or classlabels_int64s.
  Classes(const Node& node, std::string_view ints);
  ElementType type() const { return strings_.empty() ? ElementType::kInt64 : ElementType::kString; }
  int64_t count() const { return static_cast<int64_t>(std::max(strings_.size(), ints_.size())); }

  // Stores output 0, the labels of these classes; class -1 is no class: 0 or an empty string.
  void store_labels(ReferenceContext& context, const std::vector<int64_t>& classes) const;

 private:
  std::vector<std::string> strings_;
  std::vector<int64_t> ints_;
};

// Element and shape of both outputs: labels [N], scores [N, columns].
void infer_classifier(InferContext& context, const Classes& classes, const Dim& columns);

// The class of the largest score, the first of equals.
int64_t best_class(std::span<const double> scores);

}  // namespace vernier::ops

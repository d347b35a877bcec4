#include "vernier/ops/support/ml/classes.h"

#include "vernier/ops/support/ml/feature_rows.h"

namespace vernier::ops {

Classes::Classes(const Node& node, std::string_view ints)
    : strings_(node.attribute<std::vector<std::string>>("classlabels_strings", {})),
      ints_(node.attribute<std::vector<int64_t>>(ints, {})) {
  if (strings_.empty() == ints_.empty())
    throw bad_input("{} needs labels that are either strings or integers", node.op);
}

void Classes::store_labels(ReferenceContext& context, const std::vector<int64_t>& classes) const {
  if (!context.wants(0)) return;
  const Dims dims = {static_cast<int64_t>(classes.size())};
  if (strings_.empty()) {
    std::vector<int64_t> labels;
    for (const int64_t index : classes)
      labels.push_back(index < 0 ? 0 : ints_.at(static_cast<size_t>(index)));
    return context.store_ints(0, dims, labels);
  }
  auto labels = context.allocate(0, dims).mutable_values<std::string>();
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] >= 0) labels[i] = strings_.at(static_cast<size_t>(classes[i]));
  }
}

void infer_classifier(InferContext& context, const Classes& classes, const Dim& columns) {
  const Dim rows = row_count(context);
  context.set_output(0, classes.type(), Shape{rows});
  context.set_output(1, ElementType::kFloat, Shape{rows, columns});
}

int64_t best_class(std::span<const double> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace vernier::ops

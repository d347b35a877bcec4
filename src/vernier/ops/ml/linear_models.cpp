// LinearRegressor and LinearClassifier (ai.onnx.ml).
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/classes.h"
#include "vernier/ops/support/ml/linear_scores.h"

namespace vernier::ops {

namespace {

int64_t target_count(const Node& node) {
  const auto targets = node.attribute<int64_t>("targets", 1);
  if (targets < 1) throw bad_input("targets is {}", targets);
  return targets;
}

void infer_regressor(InferContext& context) {
  context.set_output(0, ElementType::kFloat, Shape{row_count(context), target_count(context.node())});
}

void transform_rows(PostTransform transform, std::vector<double>& scores, int64_t columns) {
  const auto width = static_cast<size_t>(columns);
  for (size_t at = 0; at < scores.size(); at += width) apply(transform, std::span(scores).subspan(at, width));
}

void regressor(ReferenceContext& context) {
  const FeatureRows rows = feature_rows(context);
  const int64_t targets = target_count(context.node());
  auto scores = linear_scores(context, rows, targets);
  transform_rows(post_transform_of(context.node()), scores, targets);
  context.store(0, {rows.count, targets}, scores);
}

Classes classes_of(const Node& node) {
  return Classes(node, "classlabels_ints");
}

void infer_linear_classifier(InferContext& context) {
  const Classes classes = classes_of(context.node());
  infer_classifier(context, classes, classes.count());
}

// With two classes the coefficients may be those of the second alone.
bool knows_second_only(const ReferenceContext& context, FeatureRows rows, int64_t classes) {
  const auto coefficients = context.attribute<std::vector<float>>("coefficients", {});
  return classes == 2 && std::ssize(coefficients) == rows.width;
}

void binary_classifier(ReferenceContext& context, FeatureRows rows, const Classes& classes) {
  const PostTransform transform = post_transform_of(context.node());
  const bool probability = transform == PostTransform::kNone || transform == PostTransform::kProbit;
  std::vector<double> scores;
  std::vector<int64_t> best;
  for (const double score : linear_scores(context, rows, 1)) {
    best.push_back(score > 0 ? 1 : 0);
    std::ranges::copy(both_scores(score, probability), std::back_inserter(scores));
  }
  transform_rows(transform, scores, 2);
  classes.store_labels(context, best);
  context.store(1, {rows.count, 2}, scores);
}

void classifier(ReferenceContext& context) {
  const FeatureRows rows = feature_rows(context);
  const Classes classes = classes_of(context.node());
  if (knows_second_only(context, rows, classes.count())) return binary_classifier(context, rows, classes);
  const PostTransform transform = post_transform_of(context.node());
  auto scores = linear_scores(context, rows, classes.count());
  std::vector<int64_t> best;
  const auto width = static_cast<size_t>(classes.count());
  for (size_t at = 0; at < scores.size(); at += width) {
    const auto row = std::span(scores).subspan(at, width);
    best.push_back(best_class(row));
    apply(transform, row);
    // A single class is told from none by a threshold.
    if (width == 1 && !(row[0] >= (transform == PostTransform::kNone ? 0 : 0.5))) best.back() = -1;
  }
  classes.store_labels(context, best);
  context.store(1, {rows.count, classes.count()}, scores);
}

}  // namespace

void register_linear_models(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "LinearRegressor",
                .operands = {Role::kData},
                .attributes = {{"coefficients", "FLOATS"},
                               {"intercepts", "FLOATS"},
                               {"post_transform", "STRING"},
                               {"targets", "INT"}},
                .traits = kContraction,
                .precision = PrecisionClass::kAlways,
                .infer = infer_regressor,
                .reference = regressor});
  registry.add({.domain = "ai.onnx.ml",
                .op = "LinearClassifier",
                .operands = {Role::kData},
                .max_outputs = 2,
                .attributes = {{"classlabels_ints", "INTS"},
                               {"classlabels_strings", "STRINGS"},
                               {"coefficients", "FLOATS"},
                               {"intercepts", "FLOATS"},
                               {"multi_class", "INT"},
                               {"post_transform", "STRING"}},
                .traits = kContraction,
                .infer = infer_linear_classifier,
                .reference = classifier});
}

}  // namespace vernier::ops

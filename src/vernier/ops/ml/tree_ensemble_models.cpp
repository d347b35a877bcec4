// TreeEnsembleRegressor and TreeEnsembleClassifier (ai.onnx.ml): the votes of decision trees, summed up to
// targets or classes. A *_as_tensor attribute (since 3) is the form in double of the list of that name.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/classes.h"
#include "vernier/ops/support/ml/feature_rows.h"
#include "vernier/ops/support/ml/legacy_trees.h"

namespace vernier::ops {

namespace {

int64_t target_count(const Node& node) {
  const auto targets = node.attribute<int64_t>("n_targets", 1);
  if (targets < 1) throw bad_input("n_targets is {}", targets);
  return targets;
}

Aggregate aggregate_of(const Node& node) {
  static constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto name = node.attribute<std::string>("aggregate_function", "SUM");
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw bad_input("aggregate_function '{}' is not known", name);
  return static_cast<Aggregate>(found - std::begin(kNames));
}

// The scores of all rows, with base values, before any transform.
std::vector<double> score_rows(const ReferenceContext& context, const DecisionTrees& trees,
                               Aggregate aggregate, const std::vector<double>& base_values) {
  const FeatureRows rows = feature_rows(context);
  trees.check(rows.width);
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(rows.count * trees.targets));
  parallel_for(rows.count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto scores =
          std::span(y).subspan(static_cast<size_t>(i * trees.targets), static_cast<size_t>(trees.targets));
      trees.score(x.data() + i * rows.width, aggregate, scores);
      add_base_values(base_values, scores);
    }
  });
  return y;
}

void infer_regressor(InferContext& context) {
  context.set_output(0, ElementType::kFloat, Shape{row_count(context), target_count(context.node())});
}

void regressor(ReferenceContext& context) {
  const DecisionTrees trees = read_legacy_trees(context.node(), "target", target_count(context.node()));
  const PostTransform transform = post_transform_of(context.node());
  auto y = score_rows(context, trees, aggregate_of(context.node()),
                      reals_attribute(context.node(), "base_values"));
  const auto width = static_cast<size_t>(trees.targets);
  for (size_t at = 0; at < y.size(); at += width) apply(transform, std::span(y).subspan(at, width));
  context.store(0, {feature_rows(context).count, trees.targets}, y);
}

Classes classes_of(const Node& node) {
  return Classes(node, "classlabels_int64s");
}

void infer_tree_classifier(InferContext& context) {
  const Classes classes = classes_of(context.node());
  infer_classifier(context, classes, classes.count());
}

// Two classes and votes for the first alone: they are the votes for the second. So converters write what was
// trained as one number, a probability if no vote is negative.
struct BinaryVotes {
  bool applies, probability;

  BinaryVotes(const Node& node, int64_t classes, PostTransform transform) {
    const auto ids = node.attribute<std::vector<int64_t>>("class_ids", {});
    const auto weights = reals_attribute(node, "class_weights");
    applies = classes == 2 && std::all_of(ids.begin(), ids.end(), [](int64_t id) { return id == 0; });
    probability = transform == PostTransform::kProbit ||
                  (transform == PostTransform::kNone &&
                   std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; }));
  }
};

// A single value for two classes is that of the first.
std::vector<double> class_base_values(const Node& node, int64_t classes) {
  auto values = reals_attribute(node, "base_values");
  if (values.size() == 1 && classes == 2) values.push_back(0);
  return values;
}

void classifier(ReferenceContext& context) {
  const Classes classes = classes_of(context.node());
  const DecisionTrees trees = read_legacy_trees(context.node(), "class", classes.count());
  const PostTransform transform = post_transform_of(context.node());
  auto scores =
      score_rows(context, trees, Aggregate::kSum, class_base_values(context.node(), classes.count()));
  const BinaryVotes binary(context.node(), classes.count(), transform);
  std::vector<int64_t> best;
  const auto width = static_cast<size_t>(classes.count());
  for (size_t at = 0; at < scores.size(); at += width) {
    const auto row = std::span(scores).subspan(at, width);
    if (binary.applies) std::ranges::copy(both_scores(row[0], binary.probability), row.begin());
    // A single class is told from none by its sign.
    best.push_back(width == 1 && !(row[0] > 0) ? -1 : best_class(row));
    apply(transform, row);
  }
  classes.store_labels(context, best);
  context.store(1, {feature_rows(context).count, classes.count()}, scores);
}

std::vector<AttributeSpec> attributes(const std::string& votes, std::vector<AttributeSpec> others) {
  for (const char* name : {"nodes_falsenodeids", "nodes_featureids", "nodes_missing_value_tracks_true",
                           "nodes_nodeids", "nodes_treeids", "nodes_truenodeids"}) {
    others.push_back({name, "INTS"});
  }
  for (const std::string& name : {std::string("base_values"), std::string("nodes_hitrates"),
                                  std::string("nodes_values"), votes + "_weights"}) {
    others.push_back({name, "FLOATS"});
    others.push_back({name + "_as_tensor", "TENSOR"});
  }
  for (const char* suffix : {"_ids", "_nodeids", "_treeids"}) others.push_back({votes + suffix, "INTS"});
  others.push_back({"nodes_modes", "STRINGS"});
  others.push_back({"post_transform", "STRING"});
  return others;
}

}  // namespace

void register_tree_ensemble_models(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "TreeEnsembleRegressor",
                .operands = {Role::kData},
                .attributes = attributes("target", {{"aggregate_function", "STRING"}, {"n_targets", "INT"}}),
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_regressor,
                .reference = regressor});
  registry.add({.domain = "ai.onnx.ml",
                .op = "TreeEnsembleClassifier",
                .operands = {Role::kData},
                .max_outputs = 2,
                .attributes =
                    attributes("class", {{"classlabels_int64s", "INTS"}, {"classlabels_strings", "STRINGS"}}),
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_tree_classifier,
                .reference = classifier});
}

}  // namespace vernier::ops

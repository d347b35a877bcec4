// TreeEnsembleRegressor and TreeEnsembleClassifier (ai.onnx.ml): the votes of decision trees, summed up to
// targets or classes. A *_as_tensor attribute (since 3) is the form in double of the list of that name.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/classes.h"
#include "vernier/ops/support/feature_rows.h"
#include "vernier/ops/support/legacy_trees.h"

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
                               Aggregate aggregate) {
  const FeatureRows rows = feature_rows(context);
  trees.check(rows.width);
  const auto base_values = reals_attribute(context.node(), "base_values");
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
  auto y = score_rows(context, trees, aggregate_of(context.node()));
  const auto width = static_cast<size_t>(trees.targets);
  for (size_t at = 0; at < y.size(); at += width) apply(transform, std::span(y).subspan(at, width));
  context.store(0, {feature_rows(context).count, trees.targets}, y);
}

Classes classes_of(const Node& node) {
  return Classes(node, "classlabels_int64s");
}

void infer_tree_classifier(InferContext& context) {
  const Classes classes = classes_of(context.node());
  infer_classifier(context, classes, std::max<int64_t>(2, classes.count()));
}

// Two classes of which the trees know only one: its score decides, and the other class gets what is left of
// it.
struct BinaryScores {
  bool applies, weights_are_positive;
  size_t known;

  BinaryScores(const Node& node, int64_t classes) : applies(false), weights_are_positive(true), known(0) {
    const auto ids = node.attribute<std::vector<int64_t>>("class_ids", {});
    const auto weights = reals_attribute(node, "class_weights");
    applies = classes <= 2 && !ids.empty() &&
              std::all_of(ids.begin(), ids.end(), [&](int64_t id) { return id == ids[0]; });
    weights_are_positive =
        std::all_of(weights.begin(), weights.end(), [](double weight) { return weight >= 0; });
    if (applies) known = static_cast<size_t>(ids[0]);
  }
  std::array<double, 2> expand(double score, PostTransform transform) const {
    const bool probability =
        transform == PostTransform::kProbit || (transform == PostTransform::kNone && weights_are_positive);
    return {probability ? 1 - score : -score, score};
  }
};

void classifier(ReferenceContext& context) {
  const Classes classes = classes_of(context.node());
  const DecisionTrees trees = read_legacy_trees(context.node(), "class", classes.count());
  const auto votes = score_rows(context, trees, Aggregate::kSum);
  const PostTransform transform = post_transform_of(context.node());
  const BinaryScores binary(context.node(), classes.count());
  const int64_t rows = feature_rows(context).count, columns = std::max<int64_t>(2, classes.count());
  std::vector<double> scores(static_cast<size_t>(rows * columns));
  std::vector<int64_t> best;
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    const auto from =
        std::span(votes).subspan(i * static_cast<size_t>(trees.targets), static_cast<size_t>(trees.targets));
    const auto to = std::span(scores).subspan(i * static_cast<size_t>(columns), static_cast<size_t>(columns));
    if (binary.applies)
      std::ranges::copy(binary.expand(from[binary.known], transform), to.begin());
    else
      std::copy(from.begin(), from.end(), to.begin());
    apply(transform, to);
    // A single label is that of the second class; the first has none.
    best.push_back(best_class(to) - (classes.count() == 1 ? 1 : 0));
  }
  classes.store_labels(context, best);
  context.store(1, {rows, columns}, scores);
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
                .min_inputs = 1,
                .max_inputs = 1,
                .attributes = attributes("target", {{"aggregate_function", "STRING"}, {"n_targets", "INT"}}),
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_regressor,
                .reference = regressor});
  registry.add({.domain = "ai.onnx.ml",
                .op = "TreeEnsembleClassifier",
                .min_inputs = 1,
                .max_inputs = 1,
                .max_outputs = 2,
                .attributes =
                    attributes("class", {{"classlabels_int64s", "INTS"}, {"classlabels_strings", "STRINGS"}}),
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_tree_classifier,
                .reference = classifier});
}

}  // namespace vernier::ops

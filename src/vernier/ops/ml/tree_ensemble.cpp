// TreeEnsemble (ai.onnx.ml, since 5): the votes of decision trees, whose nodes and leaves are numbered
// separately.
#include "vernier/base/threads.h"
#include "vernier/ops/op_def.h"
#include "vernier/ops/support/ml/decision_trees.h"
#include "vernier/ops/support/ml/feature_rows.h"
#include "vernier/ops/support/ml/post_transform.h"

namespace vernier::ops {

namespace {

using Ints = std::vector<int64_t>;

int64_t target_count(const Node& node) {
  const auto targets = node.attribute<int64_t>("n_targets", 1);
  if (targets < 1) throw bad_input("n_targets is {}", targets);
  return targets;
}

void infer_tree_ensemble(InferContext& context) {
  context.set_output(0, context.element(0), Shape{row_count(context), target_count(context.node())});
}

template <class List>
List list_of(const Node& node, std::string_view name, size_t size) {
  auto list = node.attribute<List>(name, {});
  if (list.size() != size) throw bad_input("'{}' has {} entries instead of {}", name, list.size(), size);
  return list;
}

std::vector<double> reals_of(const Node& node, std::string_view name) {
  const Attribute* attribute = node.find_attribute(name);
  return attribute == nullptr ? std::vector<double>() : attribute->get<Tensor>().to_doubles();
}

// Gives each membership node, in the order of the nodes, its set: what stands before the next NaN.
void read_members(const Node& node, DecisionTrees& trees) {
  trees.members = reals_of(node, "membership_values");
  size_t at = 0;
  for (TreeNode& made : trees.nodes) {
    if (made.mode != BranchMode::kMember) continue;
    made.first_member = at;
    while (at < trees.members.size() && !std::isnan(trees.members[at])) ++at;
    if (at == trees.members.size()) throw bad_input("membership_values has too few sets");
    made.last_member = at++;
    std::sort(trees.members.begin() + static_cast<std::ptrdiff_t>(made.first_member),
              trees.members.begin() + static_cast<std::ptrdiff_t>(made.last_member));
  }
}

DecisionTrees read_trees(const Node& node) {
  DecisionTrees trees;
  trees.targets = target_count(node);
  trees.roots = node.attribute<Ints>("tree_roots", {});
  const auto splits = reals_of(node, "nodes_splits"), modes = reals_of(node, "nodes_modes");
  const size_t count = splits.size();
  const Ints features = list_of<Ints>(node, "nodes_featureids", count);
  const Ints on_true = list_of<Ints>(node, "nodes_truenodeids", count),
             true_leafs = list_of<Ints>(node, "nodes_trueleafs", count);
  const Ints on_false = list_of<Ints>(node, "nodes_falsenodeids", count),
             false_leafs = list_of<Ints>(node, "nodes_falseleafs", count);
  const auto missing = node.attribute<Ints>("nodes_missing_value_tracks_true", {});
  if (modes.size() != count || (!missing.empty() && missing.size() != count))
    throw bad_input("the lists of {} nodes differ in length", count);
  for (size_t i = 0; i < count; ++i) {
    if (on_true[i] < 0 || on_false[i] < 0) throw bad_input("node {} of a tree has a negative child", i);
    if (!(modes[i] >= 0 && modes[i] <= static_cast<double>(BranchMode::kMember)))
      throw bad_input("{} is no mode of a tree's node", modes[i]);
    TreeNode& made = trees.nodes.emplace_back();
    made.mode = static_cast<BranchMode>(modes[i]);
    made.missing_is_true = !missing.empty() && missing[i] != 0;
    made.feature = features[i];
    made.split = splits[i];
    made.on_true = true_leafs[i] != 0 ? ~on_true[i] : on_true[i];
    made.on_false = false_leafs[i] != 0 ? ~on_false[i] : on_false[i];
  }
  for (const int64_t root : trees.roots) {
    if (root < 0) throw bad_input("a tree has the root {}", root);
  }
  read_members(node, trees);
  const auto weights = reals_of(node, "leaf_weights");
  const Ints targets = list_of<Ints>(node, "leaf_targetids", weights.size());
  for (size_t i = 0; i < weights.size(); ++i) trees.leaves.push_back({{targets[i], weights[i]}});
  return trees;
}

void reference_tree_ensemble(ReferenceContext& context) {
  const FeatureRows rows = feature_rows(context);
  const DecisionTrees trees = read_trees(context.node());
  trees.check(rows.width);
  const auto aggregate =
      context.attribute<int64_t>("aggregate_function", static_cast<int64_t>(Aggregate::kSum));
  if (aggregate < 0 || aggregate > static_cast<int64_t>(Aggregate::kMax))
    throw bad_input("aggregate_function {} is not known", aggregate);
  const PostTransform transform = post_transform_of(context.node());
  const auto x = context.reals(0);
  std::vector<double> y(static_cast<size_t>(rows.count * trees.targets));
  parallel_for(rows.count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto scores =
          std::span(y).subspan(static_cast<size_t>(i * trees.targets), static_cast<size_t>(trees.targets));
      trees.score(x.data() + i * rows.width, static_cast<Aggregate>(aggregate), scores);
      apply(transform, scores);
    }
  });
  context.store(0, {rows.count, trees.targets}, y);
}

}  // namespace

void register_tree_ensemble(OpRegistry& registry) {
  registry.add({.domain = "ai.onnx.ml",
                .op = "TreeEnsemble",
                .operands = {Role::kData},
                .attributes = {{"aggregate_function", "INT"},
                               {"leaf_targetids", "INTS"},
                               {"leaf_weights", "TENSOR"},
                               {"membership_values", "TENSOR"},
                               {"n_targets", "INT"},
                               {"nodes_falseleafs", "INTS"},
                               {"nodes_falsenodeids", "INTS"},
                               {"nodes_featureids", "INTS"},
                               {"nodes_hitrates", "TENSOR"},
                               {"nodes_missing_value_tracks_true", "INTS"},
                               {"nodes_modes", "TENSOR"},
                               {"nodes_splits", "TENSOR"},
                               {"nodes_trueleafs", "INTS"},
                               {"nodes_truenodeids", "INTS"},
                               {"post_transform", "INT"},
                               {"tree_roots", "INTS"}},
                .precision = PrecisionClass::kNeverLower,
                .infer = infer_tree_ensemble,
                .reference = reference_tree_ensemble});
}

}  // namespace vernier::ops

#include "vernier/ops/support/ml/legacy_trees.h"

namespace vernier::ops {

namespace {

using Ints = std::vector<int64_t>;
using Name = std::pair<int64_t, int64_t>;  // tree and node

Ints ints_attribute(const Node& node, const std::string& name, size_t size) {
  auto list = node.attribute<Ints>(name, {});
  if (list.size() != size) throw bad_input("'{}' has {} entries instead of {}", name, list.size(), size);
  return list;
}

BranchMode branch_mode(const std::string& mode) {
  static constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), mode);
  if (found == std::end(kNames)) throw bad_input("'{}' is no mode of a tree's node", mode);
  return static_cast<BranchMode>(found - std::begin(kNames));
}

// Gives every named node its place among the nodes or the leaves, in order; the first of a tree is its root.
std::map<Name, int64_t> place_nodes(const Ints& tree_ids, const Ints& node_ids,
                                    const std::vector<std::string>& modes, DecisionTrees& trees) {
  std::map<Name, int64_t> children;
  std::set<int64_t> rooted;
  for (size_t i = 0; i < modes.size(); ++i) {
    const bool leaf = modes[i] == "LEAF";
    const int64_t child = leaf ? ~std::ssize(trees.leaves) : std::ssize(trees.nodes);
    if (leaf)
      trees.leaves.emplace_back();
    else
      trees.nodes.emplace_back();
    if (!children.try_emplace({tree_ids[i], node_ids[i]}, child).second)
      throw bad_input("tree {} has two nodes {}", tree_ids[i], node_ids[i]);
    if (rooted.insert(tree_ids[i]).second) trees.roots.push_back(child);
  }
  return children;
}

int64_t find_child(const std::map<Name, int64_t>& children, int64_t tree, int64_t node) {
  const auto found = children.find({tree, node});
  if (found == children.end()) throw bad_input("tree {} has no node {}", tree, node);
  return found->second;
}

void read_votes(const Node& node, const std::string& votes, const std::map<Name, int64_t>& children,
                DecisionTrees& trees) {
  const auto weights = reals_attribute(node, votes + "_weights");
  const Ints tree_ids = ints_attribute(node, votes + "_treeids", weights.size()),
             node_ids = ints_attribute(node, votes + "_nodeids", weights.size());
  const Ints targets = ints_attribute(node, votes + "_ids", weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    const int64_t child = find_child(children, tree_ids[i], node_ids[i]);
    if (child >= 0) throw bad_input("node {} of tree {} votes, but is no leaf", node_ids[i], tree_ids[i]);
    trees.leaves[static_cast<size_t>(~child)].push_back({targets[i], weights[i]});
  }
}

}  // namespace

std::vector<double> reals_attribute(const Node& node, const std::string& name) {
  if (const Attribute* tensor = node.find_attribute(name + "_as_tensor"))
    return tensor->get<Tensor>().to_doubles();
  const auto list = node.attribute<std::vector<float>>(name, {});
  return {list.begin(), list.end()};
}

DecisionTrees read_legacy_trees(const Node& node, const std::string& votes, int64_t targets) {
  DecisionTrees trees;
  trees.targets = targets;
  const auto modes = node.attribute<std::vector<std::string>>("nodes_modes", {});
  const size_t count = modes.size();
  const Ints tree_ids = ints_attribute(node, "nodes_treeids", count),
             node_ids = ints_attribute(node, "nodes_nodeids", count);
  const Ints features = ints_attribute(node, "nodes_featureids", count);
  const Ints on_true = ints_attribute(node, "nodes_truenodeids", count),
             on_false = ints_attribute(node, "nodes_falsenodeids", count);
  const auto missing = node.attribute<Ints>("nodes_missing_value_tracks_true", {});
  const auto splits = reals_attribute(node, "nodes_values");
  if (splits.size() != count || (!missing.empty() && missing.size() != count))
    throw bad_input("the lists of {} nodes differ in length", count);

  const auto children = place_nodes(tree_ids, node_ids, modes, trees);
  for (size_t i = 0, at = 0; i < count; ++i) {
    if (modes[i] == "LEAF") continue;
    TreeNode& made = trees.nodes[at++];
    made.mode = branch_mode(modes[i]);
    made.missing_is_true = !missing.empty() && missing[i] != 0;
    made.feature = features[i];
    made.split = splits[i];
    made.on_true = find_child(children, tree_ids[i], on_true[i]);
    made.on_false = find_child(children, tree_ids[i], on_false[i]);
  }
  read_votes(node, votes, children, trees);
  return trees;
}

void add_base_values(const std::vector<double>& base_values, std::span<double> scores) {
  if (base_values.empty()) return;
  if (base_values.size() != 1 && base_values.size() != scores.size())
    throw bad_input("{} base values for {} targets", base_values.size(), scores.size());
  for (size_t i = 0; i < scores.size(); ++i) scores[i] += base_values[base_values.size() == 1 ? 0 : i];
}

}  // namespace vernier::ops

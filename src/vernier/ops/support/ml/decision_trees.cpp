#include "vernier/ops/support/ml/decision_trees.h"

#include "vernier/base/error.h"

namespace vernier::ops {

namespace {

bool holds(const DecisionTrees& trees, const TreeNode& node, double x) {
  if (std::isnan(x) && node.missing_is_true) return true;
  switch (node.mode) {
    case BranchMode::kLeq: return x <= node.split;
    case BranchMode::kLt: return x < node.split;
    case BranchMode::kGte: return x >= node.split;
    case BranchMode::kGt: return x > node.split;
    case BranchMode::kEq: return x == node.split;
    case BranchMode::kNeq: return x != node.split && !std::isnan(x);
    case BranchMode::kMember: {
      const auto set =
          std::span(trees.members).subspan(node.first_member, node.last_member - node.first_member);
      return std::binary_search(set.begin(), set.end(), x);
    }
  }
  return false;
}

double combine(Aggregate aggregate, double a, double b) {
  if (aggregate == Aggregate::kMin) return std::min(a, b);
  if (aggregate == Aggregate::kMax) return std::max(a, b);
  return a + b;
}

}  // namespace

void DecisionTrees::check(int64_t features) const {
  const auto check_child = [&](int64_t child) {
    const bool leaf = child < 0;
    if (leaf ? ~child >= std::ssize(leaves) : child >= std::ssize(nodes))
      throw bad_input("a tree leads to a {} that does not exist", leaf ? "leaf" : "node");
  };
  for (const TreeNode& node : nodes) {
    check_child(node.on_true);
    check_child(node.on_false);
    if (node.feature < 0 || node.feature >= features)
      throw bad_input("a tree asks for feature {} of {}", node.feature, features);
  }
  for (const int64_t root : roots) check_child(root);
  for (const auto& leaf : leaves) {
    for (const Vote& vote : leaf) {
      if (vote.target < 0 || vote.target >= targets)
        throw bad_input("a leaf votes for target {} of {}", vote.target, targets);
    }
  }
}

const std::vector<Vote>& DecisionTrees::find_leaf(int64_t root, const double* sample) const {
  int64_t child = root;
  // No path is longer than the number of nodes, unless it runs in a circle.
  for (size_t steps = 0; steps <= nodes.size(); ++steps) {
    if (child < 0) return leaves[static_cast<size_t>(~child)];
    const TreeNode& node = nodes[static_cast<size_t>(child)];
    child = holds(*this, node, sample[node.feature]) ? node.on_true : node.on_false;
  }
  throw bad_input("a tree has a circle");
}

void DecisionTrees::score(const double* sample, Aggregate aggregate, std::span<double> scores) const {
  std::fill(scores.begin(), scores.end(), 0.0);
  std::vector<bool> voted(scores.size());
  for (const int64_t root : roots) {
    for (const Vote& vote : find_leaf(root, sample)) {
      const auto target = static_cast<size_t>(vote.target);
      scores[target] = voted[target] ? combine(aggregate, scores[target], vote.weight) : vote.weight;
      voted[target] = true;
    }
  }
  if (aggregate != Aggregate::kAverage) return;
  for (double& score : scores) score /= static_cast<double>(std::max<size_t>(1, roots.size()));
}

}  // namespace vernier::ops

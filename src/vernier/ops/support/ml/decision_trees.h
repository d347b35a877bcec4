// Ensembles of decision trees, as TreeEnsemble, TreeEnsembleClassifier and TreeEnsembleRegressor share them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace vernier::ops {

// In the order of TreeEnsemble's numbers.
enum class BranchMode : uint8_t { kLeq, kLt, kGte, kGt, kEq, kNeq, kMember };
enum class Aggregate : uint8_t { kAverage, kSum, kMin, kMax };

// A child is the index of a node, or ~index of a leaf.
struct TreeNode {
  BranchMode mode = BranchMode::kLeq;
  bool missing_is_true = false;  // where a NaN goes
  int64_t feature = 0;
  double split = 0;
  int64_t on_true = -1, on_false = -1;
  size_t first_member = 0, last_member = 0;  // of the set that kMember looks into
};

struct Vote {
  int64_t target;
  double weight;
};

struct DecisionTrees {
  std::vector<TreeNode> nodes;
  std::vector<std::vector<Vote>> leaves;
  std::vector<int64_t> roots;   // children
  std::vector<double> members;  // the sets, each sorted
  int64_t targets = 0;

  // Throws bad_input for a child, target or feature that does not exist.
  void check(int64_t features) const;
  // The votes of all trees for one sample; 0 where a target has none.
  void score(const double* sample, Aggregate aggregate, std::span<double> scores) const;

 private:
  const std::vector<Vote>& find_leaf(int64_t root, const double* sample) const;
};

}  // namespace vernier::ops

// The trees of TreeEnsembleClassifier and TreeEnsembleRegressor, whose leaves are nodes and whose children
// have names.
#pragma once

#include <string>

#include "vernier/ir/graph.h"
#include "vernier/ops/support/ml/decision_trees.h"

namespace vernier::ops {

// Reads the nodes_* attributes and the votes, "<votes>_treeids", "<votes>_nodeids", "<votes>_ids" and
// "<votes>_weights". Throws bad_input for lists that do not fit together.
DecisionTrees read_legacy_trees(const Node& node, const std::string& votes, int64_t targets);

// The list `name`, or the tensor `name`_as_tensor, which is its form in double.
std::vector<double> reals_attribute(const Node& node, const std::string& name);

// `base_values`, added to the scores of each sample: one for each target, one for all, or none.
void add_base_values(const std::vector<double>& base_values, std::span<double> scores);

}  // namespace vernier::ops

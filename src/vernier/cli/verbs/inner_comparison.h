// Inner values of a model, for a page.
#pragma once

#include <vector>

#include "vernier/compare/compare.h"
#include "vernier/data/data_source.h"
#include "vernier/exec/runner.h"

namespace vernier {

// Compares every tensor that the runners show with what the first of them has, on the first sample, by
// tolerances alone: what noise and roundings explain is not asked. Throws what runners throw.
std::vector<ComparisonResult> compare_inner_values(const Model& model, const std::vector<Runner*>& runners,
                                                   DataSource& data, const CompareOptions& options);
// The tensors of the main graph that nodes make, in the order of execution.
std::vector<std::string> inner_tensors(const Graph& graph);

}  // namespace vernier

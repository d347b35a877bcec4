// The values that int8 quantizes by ranges.
#pragma once

#include <filesystem>

#include "vernier/ir/graph.h"
#include "vernier/precision/calibration.h"

namespace vernier {

// Which inputs of a node int8 quantizes by ranges: those that a Conv, MatMul or Gemm of floats multiplies,
// but constant weights, whose content gives their scales. Empty for every other node.
std::vector<size_t> ranged_inputs(const Node& node);
// The values of the graph, regions left out, that int8 needs ranges of, in the order of the nodes that read
// them. Types are inferred.
std::vector<const Value*> ranged_values(const Graph& graph);

// The ranges of a file, for one model.

// Reads what int8, and int4 weights, are planned by. `graph` is the model as its rewrites left it, `model`
// the model before: a value of either may have a range. Throws bad_input, naming the file, for ranges of
// another model, for names that are no values or nodes of it, and for scales that are not of integers. Of the
// names in a cache that another program wrote one must be a value; the notes tell of those that are none.
Ranges read_model_ranges(const std::filesystem::path& path, const Graph& graph, const Graph& model,
                         std::vector<std::string>& notes);

}  // namespace vernier

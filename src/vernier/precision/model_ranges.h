// The ranges of a file, for one model.
#pragma once

#include <filesystem>

#include "vernier/precision/calibration.h"

namespace vernier {

// Reads what int8, and int4 weights, are planned by. `graph` is the model as its rewrites left it, `model`
// the model before: a value of either may have a range. Throws bad_input, naming the file, for ranges of
// another model, for names that are no values or nodes of it, and for scales that are not of integers. Of the
// names in a cache that another program wrote one must be a value; the notes tell of those that are none.
Ranges read_model_ranges(const std::filesystem::path& path, const Graph& graph, const Graph& model,
                         std::vector<std::string>& notes);

}  // namespace vernier

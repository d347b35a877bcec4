// Inner values of a run that are too many to be held at once.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/ir/graph.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Bytes of the named values: from their types where these are complete, else from a run of the reference on
// the inputs.
std::map<std::string, size_t> bytes_of_values(const Graph& graph, const std::vector<std::string>& values,
                                              const NamedData& inputs);

// The values in their order, cut where a batch would pass `most` bytes. A value that is larger is a batch of
// its own.
std::vector<std::vector<std::string>> in_batches(const std::vector<std::string>& values,
                                                 const std::map<std::string, size_t>& bytes, size_t most);

}  // namespace vernier

// Inner values of a run that are too many to be held at once, or that an engine does not show.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/exec/runner.h"
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

// Names what is made of constants alone.
std::set<std::string> settled_values(const Graph& graph);

// Gives the values of a trace to be kept in a file; nothing if more of their bytes than `most` would stay in
// memory.
std::optional<NamedData> kept_aside(const Trace& trace, size_t most);

}  // namespace vernier

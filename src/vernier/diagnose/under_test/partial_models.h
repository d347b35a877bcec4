// Copies of a model that make an engine show more, or run less, of it.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "vernier/ir/graph.h"

namespace vernier {

// The model with these inner values as outputs, behind its own.
Model exposing(const Model& model, const std::set<std::string>& values);

// The first nodes of the model, in execution order. Its outputs are what they make for others: for the nodes
// that are left out, and for the outputs of the model.
Model first_nodes(const Model& model, size_t nodes);

// Makes a model of what the value is made of, and nothing else; it is the only output.
Model up_to(const Model& model, const std::string& value);

// A node as a model of its own. Its inputs are what it reads of others, of the sizes that `operands` have.
// Nothing for nodes that read more than their operands: those with regions.
std::optional<Model> alone(const Model& model, const std::string& node, const NamedData& operands);

}  // namespace vernier

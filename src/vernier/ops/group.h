// Group: nodes that an engine computes as one. The region "body" holds them as they were in the model, so a
// group means what they mean, and every group can be checked against the reference. Its inputs are the body's
// inputs.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

inline constexpr const char* kInternalDomain = "vernier";

bool is_group(const Node& node);
const Graph& body(const Node& group);
// Gives the kind that make_group() was told, e.g. "pointwise".
std::string group_kind(const Node& group);

// A hash of what a node computes of its operands: operator, version, attributes, and the body of a group.
uint64_t structure_of(const Node& node);

// Replaces `members` (of one graph, in its order; nobody between them may depend on one and feed another) by
// a group of the kind, e.g. "pointwise". Values read from outside become its inputs in order of first use;
// values that others read become its outputs in order of making. Constants become inputs, too.
Node* make_group(Graph& graph, const std::vector<Node*>& members, const std::string& kind);

}  // namespace vernier::ops

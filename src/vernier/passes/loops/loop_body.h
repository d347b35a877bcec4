// The passes over the bodies of Loop and Scan share this.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// The body of a node that runs it again and again; null for other nodes.
Graph* repeated_body(const Node& node);

// Whether the value is the same in every trip: made around the body, or constant.
bool is_invariant(const Value* value, const Graph& body);

// Puts a copy of a node of the body before `loop`, in the graph around it, which reads `operands` (by
// position; constants of the body are copied) and makes values of other names.
Node* copy_before(Node& loop, const Node& node, const std::vector<Value*>& operands);

// Whether the value is the number of the trip, counted from 0 by the Loop itself or by a carried value.
bool is_trip_number(const Value& value, const Node& loop);

}  // namespace vernier

#pragma once

#include "vernier/passes/pass.h"
#include "vernier/precision/asked/asked_types.h"

namespace vernier {

// "retype-nodes": nodes that the model declares as f16, bf16 or f64, and of which something else is asked,
// become nodes of f32, on which rules do the rest. Casts give them their operands, constants are stored as
// what they are in f32, and a Cast gives the type that the model declares to those who need it: outputs of
// graphs, and nodes of which nothing is asked. Between two nodes of f32 values stay f32, also where nodes in
// between only move or select elements. Regions are rewritten like the graph. `opset` of ai.onnx is that of
// the Casts.
Pass retype_nodes(AskedTypes asked, int64_t opset);

// Whether the node is one of these Casts: it computes a node of the model, and is none itself.
bool is_added_cast(const Node& node);

}  // namespace vernier

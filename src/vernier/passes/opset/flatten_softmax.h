// Softmax as it was before opset 13. Internal to the room.
#pragma once

#include "vernier/passes/build.h"

namespace vernier {

// Whether the node is a Softmax, LogSoftmax or Hardmax that takes all axes from its axis on for one, and not
// all but one of these have one element.
bool joins_axes(const Node& node);

// Flatten -> the node along the last axis -> Reshape, as opset `version` has them, in place of each such
// node.
void flatten_softmaxes(Graph& graph, int64_t version, FreeNames& names);

}  // namespace vernier

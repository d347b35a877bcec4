#pragma once

#include <unordered_map>

#include "vernier/ir/graph.h"

namespace vernier {

// The values of one graph during one run.
struct Frame {
  const Frame* outer = nullptr;
  bool shows = false;    // its values may be observed and given
  bool revises = false;  // what its nodes make may be revised
  std::unordered_map<const Value*, Datum> values = {};

  const Datum* find(const Value* value) const {
    for (const Frame* frame = this; frame != nullptr; frame = frame->outer) {
      if (const auto found = frame->values.find(value); found != frame->values.end()) return &found->second;
    }
    return nullptr;
  }
};

// Who reads which values in one run of a graph, so that each is released after its last use.

// Counts the readers of values. A region's readings count once for the node that owns it; an output of the
// graph counts as read.
struct ValueUses {
  std::unordered_map<const Value*, int> counts;
  std::unordered_map<const Node*, std::vector<const Value*>> reads;

  explicit ValueUses(const Graph& graph);
};

}  // namespace vernier

#pragma once

#include <map>

#include "vernier/ir/graph.h"

namespace vernier {

// How large values are in a run of the reference that never rounds.
struct Magnitudes {
  std::map<std::string, double> values;  // the largest finite element, by value of the main graph
  // The largest sum of absolute terms of nodes that add many, by name: no partial sum is larger.
  std::map<std::string, double> sums;

  double of(const Value* value) const {
    const auto found = value == nullptr ? values.end() : values.find(value->name);
    return found == values.end() ? 0 : found->second;
  }
};

Magnitudes magnitudes_of(const Graph& graph, const NamedData& inputs);

}  // namespace vernier

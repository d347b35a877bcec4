// Symbolic inference of a whole graph, regions included.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "vernier/ops/infer_context.h"

namespace vernier::ops {

// A declared type that inference contradicts; the inferred one is used.
struct TypeConflict {
  std::string value, declared, inferred;
};

struct InferenceReport {
  std::vector<TypeConflict> conflicts;
  // Holds what is known of computed values: integers that follow from sizes and constants. Regions are not in
  // it.
  std::unordered_map<const Value*, Tensor> contents;
  // The same of what follows from sizes that are not known: its elements, row by row, as expressions without
  // fresh symbols. The sizes of such a value are known.
  std::unordered_map<const Value*, std::vector<Dim>> sizes;
};

// Sets Value::type of every value from the types of the graph's inputs and constants. Input dimensions
// without size or name become symbols "<input>.<axis>". Throws bad_input or unsupported, naming the node.
InferenceReport infer_types(Graph& graph);

// Throws where a node does not take the types that the graph has, all of whose values have theirs; sets none.
// Nodes of the graph that `is_known` knows to be right are not looked at.
void check_types(Graph& graph, const std::function<bool(const Node&)>& is_known);

}  // namespace vernier::ops

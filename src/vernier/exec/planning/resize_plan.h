// A plan for other sizes of a graph, made from one that is there. Nodes whose operands keep their sizes keep
// their steps and kernels: it takes as long as the others need.
#pragma once

#include <unordered_map>

#include "vernier/exec/plan.h"

namespace vernier {

// What of a graph has other sizes, or contents that follow from sizes: copies of the nodes that read or make
// it, those in bodies of groups included, and of its values.
struct ResizedNodes {
  std::unique_ptr<Graph> graph;  // of the copies; what they read besides lies in the graph that was copied
  std::unordered_map<const Node*, const Node*> nodes;     // from the node that a copy takes the place of
  std::unordered_map<const Value*, const Value*> values;  // likewise
};

// `plan` comes from make_plan, with these backends and `choices`. What this gives is what make_plan would
// give at the new sizes; nothing if that would not have the same steps in the same layouts, and where a step
// has a region: make_plan is to be asked then.
std::optional<Plan> resize_plan(const Plan& plan, ResizedNodes resized, const Backends& backends,
                                PackedConstants& packed, const PlanChoices& choices, KernelCache* cache);

}  // namespace vernier

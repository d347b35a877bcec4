// Who reads a value, in the main graph and in all regions. Internal to the room.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "vernier/ir/graph.h"

namespace vernier {

struct Use {
  const Node* node;
  size_t input;
};

class GraphUses {
 public:
  explicit GraphUses(const Graph& graph);

  const std::vector<Use>& of(const Value* value) const;
  // Values with the same elements, or a row of them, because If, Loop or Scan hands `value` into or out of a
  // region.
  const std::vector<const Value*>& handed_on(const Value* value) const;

 private:
  void hand_on(const Value* from, const Value* to);
  void add_control_flow(const Node& node);

  std::map<const Value*, std::vector<Use>> uses_;
  std::map<const Value*, std::vector<const Value*>> handed_on_;
};

// The elements of a constant, seen through casts, reshapes and expansions; empty for other values and large
// constants.
std::vector<double> constant_elements(const Value* value);
// The one number that a value is made of.
std::optional<double> constant_number(const Value* value);
// True for operators whose output consists of elements of this input, unchanged.
bool copies_elements(const Node& node, size_t input);

}  // namespace vernier

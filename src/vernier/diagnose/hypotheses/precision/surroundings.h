// Where a node stands in the graph: what its operands come from and where its results go, as if no nodes were
// grouped.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

class Surroundings {
 public:
  explicit Surroundings(const Graph& graph);

  // Null for inputs of the model and for constants.
  const Node* producer(const Value* value) const;
  const std::vector<const Node*>& consumers(const Value* value) const;
  // The nodes outside of regions, members of groups in the place of groups, in execution order.
  const std::vector<const Node*>& nodes() const { return nodes_; }
  // The content of a value that does not depend on the inputs of the model, as far as one node tells.
  const Tensor* constant(const Value* value) const;

  using Test = std::function<bool(const Node&)>;
  // Whether a node that passes the test is reached from the value, forward, by nodes that pass `through`; at
  // most `steps` of these.
  bool leads_to(const Value* value, const Test& test, const Test& through, int steps = 8) const;
  // The same backward.
  bool comes_from(const Value* value, const Test& test, const Test& through, int steps = 8) const;
  // Gives the value outside of groups, and inside of the group that makes it.
  const Value* resolved(const Value* value) const;

 private:
  void add(const Node& node);

  std::map<const Value*, const Value*> aliases_;
  std::map<const Value*, std::vector<const Node*>> consumers_;
  std::vector<const Node*> nodes_;
};

bool has_op(const Node& node, std::initializer_list<std::string_view> ops);
// Arithmetic at each element by itself, and what moves elements: a value keeps its role along these.
bool carries_on(const Node& node);
// Whether a node is `x * x` or `x ^ 2`.
bool is_square(const Node& node, const Surroundings& around);
ElementType element_type_of(const Value* value);  // undefined where it is no tensor

}  // namespace vernier

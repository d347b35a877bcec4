// The nodes of a flagged node, each with what it reads and what it should make: so that an error can be put
// into one of them, and what a group makes of it is known.
#pragma once

#include <functional>

#include "vernier/diagnose/experiments/flagged_node.h"
#include "vernier/ir/attribute.h"

namespace vernier {

// By operand or result of a node; undefined where one is left out. Floats are double and unrounded, integers
// and bools as they are.
using Tensors = std::vector<Tensor>;

class Member {
 public:
  // `constants` says of each input whether it is a weight around the group; empty: as the node tells.
  Member(const Node& node, Tensors inputs, Tensors outputs, std::vector<bool> constants = {})
      : node_(node),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        constants_(std::move(constants)) {}

  const Node& node() const { return node_; }
  const std::string& op() const { return node_.op; }
  bool is(std::string_view op) const { return node_.op == op && node_.domain.empty(); }
  size_t input_count() const { return inputs_.size(); }
  bool has(size_t input) const { return input < inputs_.size() && inputs_[input].is_defined(); }
  const Tensor& in(size_t input) const { return inputs_.at(input); }
  const Tensors& inputs() const { return inputs_; }
  const Tensor& out(size_t output = 0) const { return outputs_.at(output); }
  const Tensors& outputs() const { return outputs_; }
  bool is_constant(size_t input) const;      // whether the operand is a weight, or an attribute that is one
  ElementType declared(size_t input) const;  // of an operand, in the graph
  ElementType declared_result(size_t output = 0) const;

  // Gives what the node makes of other operands; an undefined one is left out.
  Tensors with_inputs(Tensors inputs) const;
  Tensors with_input(size_t index, Tensor input) const;
  // Gives what a node makes that differs in an attribute. Without a value it has none, so the default holds.
  Tensors with_attribute(const std::string& name, std::optional<Attribute> value) const;
  // Gives what the node makes after `change`, of these operands.
  Tensors changed(const std::function<void(Node&)>& change, Tensors inputs) const;
  Tensors changed(const std::function<void(Node&)>& change) const { return changed(change, inputs_); }

 private:
  const Node& node_;
  Tensors inputs_, outputs_;
  std::vector<bool> constants_;
};

class Members {
 public:
  // The flagged node outlives this. Nodes with regions that are no groups are one member, of which only the
  // node is known. Throws what the reference throws.
  explicit Members(const FlaggedNode& flagged);

  const std::vector<Member>& all() const { return members_; }
  // Gives what the flagged node makes if that member makes these results; by output, as the engine shows
  // them: undefined where it shows none, and else of the type that it made.
  Tensors results_with(size_t member, const Tensors& results) const;
  // The same if all are sound.
  Tensors sound_results() const;

 private:
  using Values = std::map<const Value*, Tensor>;

  void unfold(const Node& node);
  const Value* real(const Value* value) const;
  Tensors inputs_of(const Node& node, const Values& values) const;
  Tensors stored(const Values& values) const;

  const FlaggedNode& flagged_;
  std::vector<const Node*> leaves_;               // in execution order
  std::map<const Value*, const Value*> aliases_;  // inside a group to around it, and around it to inside
  Values values_;                                 // if all are sound
  std::vector<Member> members_;
};

}  // namespace vernier

// This file has what changed in operators of ai.onnx from opset to opset, other than the types that they
// take. Internal to the room.
#pragma once

#include <span>

#include "vernier/passes/build.h"

namespace vernier {

// A node that is being converted, with what a conversion needs.
class RaisedNode {
 public:
  RaisedNode(Graph& graph, Node& node, FreeNames& names) : graph_(graph), node_(node), names_(names) {}

  Node& node() const { return node_; }
  // Makes `tensor` the input, which the node does not have yet.
  void set_input(size_t index, std::string_view what, Tensor tensor) const;
  // The integers of an attribute become an input; without the attribute nothing happens.
  void to_input(std::string_view attribute, size_t index) const;
  // A number becomes an input of one element, of the type of the first input.
  void number_to_input(std::string_view attribute, size_t index) const;
  [[noreturn]] void refuse(std::string_view why) const;

 private:
  Graph& graph_;
  Node& node_;
  FreeNames& names_;
};

struct OpsetChange {
  std::string_view op;
  int64_t opset;  // the first that has the new meaning
  void (*convert)(const RaisedNode& raised);
};

// Oldest opset first. What is not listed has the same meaning in every opset.
std::span<const OpsetChange> opset_changes();

// Softmax as it was before opset 13. Internal to the room.

// Whether the node is a Softmax, LogSoftmax or Hardmax that takes all axes from its axis on for one, and not
// all but one of these have one element.
bool joins_axes(const Node& node);

// Flatten -> the node along the last axis -> Reshape, as opset `version` has them, in place of each such
// node.
void flatten_softmaxes(Graph& graph, int64_t version, FreeNames& names);

}  // namespace vernier

// A copy of what a kernel is asked for, to be changed without touching the plan's graph.
#pragma once

#include "vernier/exec/backend.h"

namespace vernier {

class ChangedRequest {
 public:
  explicit ChangedRequest(const KernelRequest& original);
  // Makes the request of a new node of the first opset, such as a Transpose of a plain tensor.
  static std::shared_ptr<ChangedRequest> of_a_move(const std::string& op, AttributeMap attributes,
                                                   ElementType element, const Dims& from, const Dims& to);

  // Its node, which is in graph(), and operands. It packs nothing that the engine keeps.
  KernelRequest& request() { return *request_; }
  const Node& node() const { return *node_; }
  // The members of a group's body in order, else the node itself.
  std::vector<Node*> members();

  // Lets the member read this content as its input `at`. In a group the other members still read what they
  // read. `known`: whether the kernel may look at it when it is made.
  void give(Node& member, size_t at, const Tensor& content, Layout layout, bool known);
  // Which operand a member reads as its input `at`; -1: none, or one that is made inside a group.
  int operand_of(const Node& member, size_t at) const;
  // Sizes of the first output once the changed node is inferred again; they go into the request.
  Dims infer_again();

  // By input of the request: what the kernel is to read in place of what the plan gives.
  const std::map<size_t, Tensor>& given() const { return given_; }

 private:
  Graph graph_;  // holds the node alone
  Node* node_ = nullptr;
  std::map<size_t, Tensor> given_;
  std::optional<KernelRequest> request_;
};

}  // namespace vernier

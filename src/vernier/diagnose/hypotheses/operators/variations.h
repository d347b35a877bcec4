// Families of causes share this: proposing what a node makes that is read otherwise, and content that lies
// elsewhere.
#pragma once

#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/diagnose/hypotheses/operators/memory_orders.h"

namespace vernier {

// Makes proposals of one class at one member. What a cause makes of other sizes takes the sizes that the
// engine made: as it lies in memory where the elements are as many, else cut off, and zero where it is short.
class Variations {
 public:
  // The member and the flagged node outlive the proposals.
  Variations(const Member& member, const FlaggedNode& flagged, int failure, std::vector<Proposal>& proposals);

  const Member& member() const { return member_; }
  // `simulate` keeps what it needs beside the member.
  void add(std::string what, const std::function<Tensors()>& simulate, double penalty = 0) const;
  // The first result is `change` of what it should be.
  void add_result(std::string what, const std::function<Tensor(const Tensor&)>& change) const;
  // The node is another one.
  void add_node(std::string what, const std::function<void(Node&)>& change) const;
  // An operand, if it is there, is `change` of what it is.
  void add_operand(std::string what, size_t index, const std::function<Tensor(const Tensor&)>& change) const;
  // The same class at the same member, in other words where the class is another one.
  Variations of(int failure) const { return {member_, flagged_, failure, proposals_}; }

 private:
  Tensors sized(Tensors results) const;

  const Member& member_;
  const FlaggedNode& flagged_;
  FailureClass failure_;
  std::vector<Proposal>& proposals_;
  bool keeps_sizes_ = true;  // whether the engine made results of the right sizes
};

// Where a number was that a result follows from in a line, by what was made: 0 where that is `none`, 1 where
// it is `one`, elements that are not finite left out. Not finite where both are the same. All have as many
// elements.
double place_on_line(const std::vector<double>& made, const std::vector<double>& none,
                     const std::vector<double>& one);

// Every element on its own.
Tensor mapped(const Tensor& tensor, const std::function<double(double)>& change);
// The elements of that index along an axis, one after the other; zeros where an index is outside.
Tensor taken(const Tensor& tensor, size_t axis, const std::vector<int64_t>& indices);
// Along an axis, element i is what element i + `by` was; zero, or what comes from the other end.
Tensor shifted(const Tensor& tensor, size_t axis, int64_t by);
Tensor rolled(const Tensor& tensor, size_t axis, int64_t by);
// Cut off, or filled up with zeros, behind the end of each axis. Throws unsupported for another rank.
Tensor fitted(Tensor tensor, const Dims& dims);
Tensor exchanged(const Tensor& tensor, size_t axis, size_t other);
// A list of int64, as operands that are sizes or indices are.
Tensor list_of(const std::vector<int64_t>& values);
// An axis that may count from the back. Throws unsupported where there is none such.
size_t axis_of(int64_t axis, const Tensor& tensor);

}  // namespace vernier

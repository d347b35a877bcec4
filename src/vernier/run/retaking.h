// The reference, in which one decision after the other is taken as the actual side took it. Internal to the
// room.
#pragma once

#include "vernier/run/decisions.h"
#include "vernier/run/ties.h"

namespace vernier {

class Retaking {
 public:
  // All outlive this.
  Retaking(const NamedData& inputs, const ReferenceWithValues& reference, const Trace& actual,
           const Disagreement& disagreement, const CompareOptions& options);

  bool can_run() const { return trace_.has_value(); }
  Trace trace() && { return std::move(*trace_); }
  // The decision that differs although what it read says that it must not; "" for none.
  const std::string& clear() const { return clear_; }

  // The tie, if the decision differs and is one; false if it differs and is none.
  bool take(const Node& node, std::optional<Decision>& tie);

 private:
  using ManyOperands = std::vector<std::optional<DecisionInput>>;

  ManyOperands read(const Node& node) const;
  // False if the reference cannot.
  bool run_with(const Node& node, const ManyOperands& operands, const Tensor& decision);
  bool guess(const Node& node, const Tensor& expected, std::optional<Decision>& tie);

  const NamedData& inputs_;
  const ReferenceWithValues& reference_;
  const Trace& actual_;
  const Disagreement& disagreement_;
  const CompareOptions& options_;
  std::optional<Trace> trace_;
  NamedData taken_;
  size_t guesses_ = 0;
  std::string clear_;
};

}  // namespace vernier

// Finds what a deciding node reads on both sides of one sample. Internal to the room.
#pragma once

#include <optional>
#include <string>

#include "vernier/compare/compare.h"
#include "vernier/ir/graph.h"
#include "vernier/run/ties.h"

namespace vernier {

// Null where the trace does not show the value, or it holds no numbers.
const Tensor* tensor_in(const Trace& trace, const std::string& name);

class DecisionOperands {
 public:
  // All outlive this.
  DecisionOperands(const NamedData& inputs, const Trace& reference, const Trace& actual,
                   const CompareOptions& options)
      : inputs_(inputs), reference_(reference), actual_(actual), options_(options) {}

  // Nothing if the content is not known, or differs by more than can be no fault.
  std::optional<DecisionInput> read(const Value& value) const;

 private:
  const Tensor* given_content(const Value& value) const;
  const NoiseFloor* noise(const Value& value) const;
  std::optional<DecisionInput> with_noise(const Value& value, DecisionInput operand) const;
  bool is_faultless(const Value& value, const Tensor& expected, const Tensor& got,
                    const DecisionInput& operand) const;

  const NamedData& inputs_;
  const Trace &reference_, &actual_;
  const CompareOptions& options_;
};

}  // namespace vernier

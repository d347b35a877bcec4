// Which operands of a node are the scales and zero points of which others.
#pragma once

#include <optional>

#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

// A quantized operand, or the quantized result, with the operands that say what its integers stand for.
struct QuantizedOperand {
  std::optional<size_t> tensor;  // nothing: the result
  std::optional<size_t> scale, zero_point;
};

// Lists those of any operator that reads or makes codes, in the order of its inputs; else empty.
std::vector<QuantizedOperand> quantized_operands(const Node& node);

// Gives the content of a value of the graph or of the flagged node's group; null if nobody shows it.
const Tensor* content_of(const Value* value, const FlaggedNode& flagged, const HypothesisContext& context);

// Holds what DequantizeLinear reads beside its integers, for a value that one makes.
struct Dequantized {
  const Node* node = nullptr;
  std::vector<double> scales;       // one, or one for each index of `axis`
  std::vector<double> zero_points;  // likewise; zeros where there are none
  ElementType type = ElementType::kUndefined;
  size_t axis = 0;
};
// Nothing if another node makes the value, or in blocks.
std::optional<Dequantized> dequantized(const Value* value, const FlaggedNode& flagged,
                                       const HypothesisContext& context);

// The integers that a node which quantizes would make, neither rounded nor limited.
std::vector<double> unrounded_result(const Member& member);
// These rounded half to even, and limited to the type of the result.
Tensor as_result(const Member& member, std::vector<double> codes);

}  // namespace vernier

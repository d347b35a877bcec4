// Whether a discrete decision that came out differently on two sides was a tie.
#pragma once

#include <optional>
#include <vector>

#include "vernier/compare/decision.h"
#include "vernier/ir/graph.h"

namespace vernier {

// Holds the content of one input of a deciding node.
struct DecisionInput {
  Dims dims;
  std::vector<double> values;  // in the reference
  std::vector<double> errors;  // of each: its difference between the sides, or what noise does to it
  bool is_shown = true;        // whether both sides show it, in the type that the model declares
};

// Position in a tensor of `dims` of element `index` of one of `to`, to which it is broadcast.
size_t broadcast_position(int64_t index, const Dims& to, const Dims& dims);

// Whether the result jumps where the operands hardly move: TopK, ArgMax, ArgMin, NonMaxSuppression, Round,
// Floor, Ceil, the comparisons, and what quantizes (before_rounding).
bool is_decision(const Node& node);
// The output that tells the decision: the indices of TopK, else the first. Null if the model leaves it out.
const Value* decision_of(const Node& node);

// The decision `actual` against that of the reference. Nothing if it is no valid result, or if any place that
// differs was decided by more than the error that reached it: then it is no tie. `operands` are by input of
// the node; those of inputs left out are nothing. The outcomes differ somewhere.
std::optional<Decision> find_tie(const Node& node, const std::vector<std::optional<DecisionInput>>& operands,
                                 const Tensor& reference, const Tensor& actual);

// Rounding to quantized values as a decision: what an operator would give if it did not round.

// Whether the node rounds reals to integers of a scale: QuantizeLinear, DynamicQuantizeLinear, and the
// operators that end so, such as QLinearConv. Quantization to floating-point types is none.
bool quantizes(const Node& node);

// Gives what each element of the first output would be without rounding and saturation, in steps of its scale
// and with its zero point added, and by how much that may have moved: by the differences of what is
// quantized, and by a few roundings of float arithmetic, for an engine may multiply by the reciprocal of a
// scale. An element that lies exactly between two integers on both sides has no error: the standard says
// which one it becomes. Noise explains no more than a sixteenth of a step, for it is known of whole tensors
// only, with all that earlier roundings made of it. Nothing if an operand is not known, or if one but the
// first differs between the sides.
std::optional<DecisionInput> before_rounding(const Node& node,
                                             const std::vector<std::optional<DecisionInput>>& operands);

}  // namespace vernier

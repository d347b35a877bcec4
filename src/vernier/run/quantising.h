// Rounding to quantised values as a decision: what an operator would give if it did not round.
#pragma once

#include "vernier/run/ties.h"

namespace vernier {

// Whether the node rounds reals to integers of a scale: QuantizeLinear, DynamicQuantizeLinear, and the
// operators that end so, such as QLinearConv. Quantisation to floating-point types is none.
bool quantises(const Node& node);

// What each element of the first output would be without rounding and saturation, in steps of its scale and
// with its zero point added, and by how much that may have moved: by the differences of what is quantised,
// and by a few roundings of float arithmetic, for an engine may multiply by the reciprocal of a scale. An
// element that lies exactly between two integers on both sides has no error: the standard says which one it
// becomes. Noise explains no more than a sixteenth of a step, for it is known of whole tensors only, with all
// that earlier roundings made of it. Nothing if an operand is not known, or if one but the first differs
// between the sides.
std::optional<DecisionInput> before_rounding(const Node& node,
                                             const std::vector<std::optional<DecisionInput>>& operands);

}  // namespace vernier

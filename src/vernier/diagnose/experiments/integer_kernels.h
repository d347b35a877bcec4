// Recognises what all kernels of integers do to numbers that a model means as reals.
#pragma once

#include "vernier/diagnose/experiments/flagged_node.h"

namespace vernier {

// Whether all that differs are a few integers that lie one step off, each where the real number beside it
// lies near a tie, and most of them not on it: kernels add the bias as an integer, which moves a sum by a
// part of a step.
bool differs_near_ties_alone(const FlaggedNode& flagged);

// A number on a tie may be rounded either way, for what the arithmetic before did to it. Where all of many
// that lie there are rounded by one rule, and that is not ONNX's (to even), those that differ are not allowed
// to.
void deny_chance_at_ties(FlaggedNode& flagged, size_t output);

// Gives the step of the integers that the sums of a product are kept in, where both factors are dequantized;
// 0 where they are not. Kernels of integers round the bias, and so each sum, to that (and optimisers store a
// bias so for them): 0, too, where the bias is an integer already. The products are in `whole`, which may be
// one itself; `inputs` are its own, which outlive the result.
SumSteps integer_sum_steps(const Node& whole, std::span<const Tensor> inputs);
// Whether a kernel of this contract, or one of which nothing is said, may keep sums in integers.
bool may_sum_integers(const NumericsContract* contract);

}  // namespace vernier

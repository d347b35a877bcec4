// Which failure it is that an engine holds numbers of a node in a narrow format: that depends on where the
// node stands, and on what the numbers are.
#pragma once

#include "vernier/diagnose/hypotheses/precision/precision_loss.h"
#include "vernier/diagnose/hypotheses/precision/surroundings.h"

namespace vernier {

// One of B1, B2, B4 to B7, B9 to B11, B13 and B15.
FailureClass precision_class(const Member& member, const Surroundings& around, const PrecisionLoss& loss);

// The parts of that, for whoever looks for one of them.

// Whether a node is part of the statistics of a normalisation: a square that is reduced, that reduction
// before a root, or an operator that normalises.
bool is_norm_statistic(const Node& node, const Surroundings& around);
// Whether what the node makes are logits of a Softmax, or exponentials that are divided by their sum.
bool feeds_softmax(const Node& node, const Surroundings& around);
// Whether the node computes, in floats, what is an integer before or after: a size, a position, an id.
bool carries_integers(const Node& node, const Surroundings& around);
// Whether the node is of floats only because it stands between Casts, in a graph of the narrow type.
bool is_float_island(const Node& node, const Surroundings& around, const NarrowFormat& format);
// Whether the node has a constant, or reads what one was put into, that is too large for the format.
bool has_sentinel(const Node& node, const Surroundings& around, const NarrowFormat& format);
// Whether the node guards a quotient, root or logarithm by a constant that the format takes for zero.
bool loses_epsilon(const Node& node, const Surroundings& around, const NarrowFormat& format);

}  // namespace vernier

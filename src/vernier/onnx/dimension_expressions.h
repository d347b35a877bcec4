// Names of dimensions that say how a size follows from others.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Exporters name the length of a decoder's mask "past_sequence_length + sequence_length", say. Where such a
// name of an input's dimension is an expression of names that stand for dimensions of inputs by themselves,
// it becomes that expression. Like names that repeat, it is a promise that data need not keep
// (engine/sizes/dimension_names.h).
void read_dimension_expressions(Graph& graph);

}  // namespace vernier

// Names of dimensions that stand at several axes of the inputs, or in expressions ("past + sequence"). They
// are a promise about these sizes, which ONNX Runtime does not rely on, and which some exporters do not keep.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Whether a name stands at more than one axis of the inputs, or in an expression.
bool shares_names(const Graph& graph);

// Whether inputs of these types, one for each input of the graph, give one name two sizes, or an expression
// another size than it says.
bool contradicts_names(const Graph& graph, const std::vector<ValueType>& inputs);

// Takes all names from the dimensions of the inputs; inference gives each a name of its own.
void separate_names(Graph& graph);

}  // namespace vernier

// Data by name as the inputs of a graph.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Throws bad_input, naming the input, if `datum` is not of `type`: kind, element type, rank, constant
// dimensions.
void require_type(const std::string& input, const Datum& datum, const ValueType& type);

// The same for a tensor's type and sizes; `what` is "input 'x'" or the like.
void require_tensor_type(const std::string& what, ElementType element, const Dims& dims,
                         const TensorType& type);

// A scalar as a vector of one element where `type` is that, and the other way round; else `datum` itself.
Datum of_declared_rank(const Datum& datum, const ValueType& type);

Error missing_input(const Value& input);
Error unknown_input(const std::string& name);

// In the order of the graph's inputs; one that is left out takes its default. Throws bad_input for a missing
// or unknown input and for what require_type refuses.
std::vector<Datum> bind_inputs(const Graph& graph, const NamedData& inputs);

}  // namespace vernier

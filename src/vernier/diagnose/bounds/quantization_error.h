// Measures what quantizing by a plan makes of the outputs: its rounding, and not what it clips or spreads too
// wide.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// A copy in which no scale of QuantizeLinear is wider than what it reads on these inputs needs: rounding to
// coarser steps than those is no rounding that int8 explains.
std::unique_ptr<Graph> with_needed_scales(const Graph& graph, const NamedData& inputs);

// Runs the graph with each value that a DequantizeLinear makes a random part of a step off, as rounding to
// codes leaves it; of weights the step that each channel needs, where that of the graph is wider. Gives the
// outputs; another seed, others.
NamedData run_with_quantization_noise(const Graph& graph, const NamedData& inputs, uint64_t seed);

}  // namespace vernier

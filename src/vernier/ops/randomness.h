// Which nodes draw random numbers.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier::ops {

// Whether the node draws, or may draw as far as the graph tells: the random operators, and Dropout where it
// trains. ONNX leaves the generator open, so that two engines draw different numbers even of the same seed.
// Draws in regions of the node do not count.
bool draws_random_numbers(const Node& node);

}  // namespace vernier::ops

// Cross-layer equalisation: M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization
// Through Weight Equalization and Bias Correction", ICCV 2019 (arXiv:1906.04721), section 4.1.
//
// Where one layer feeds another through operators for which f(s x) = s f(x) holds for s > 0, a channel
// between them may be divided by s in the first layer and multiplied by s in the second: the model computes
// the same. With s = sqrt(r1 r2) / r2, where r1 and r2 are the largest weights of the channel in both layers,
// they have the same range afterwards, and an int8 scale that all channels share wastes codes on none.
#pragma once

#include "vernier/ir/graph.h"

namespace vernier {

// Changes weights and biases; the outputs of the float model change by roundings alone. Gives the pairs of
// layers that were equalised.
size_t equalise_layers(Graph& graph);

}  // namespace vernier

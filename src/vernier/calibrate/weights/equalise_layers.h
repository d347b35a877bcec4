// Cross-layer equalisation: M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization
// Through Weight Equalization and Bias Correction", ICCV 2019 (arXiv:1906.04721), section 4.1.
//
// Where one layer feeds another through operators for which f(s x) = s f(x) holds for s > 0, a channel
// between them may be divided by s in the first layer and multiplied by s in the second: the model computes
// the same. With s = sqrt(r1 r2) / r2, where r1 and r2 are the largest weights of the channel in both layers,
// they have the same range afterwards, and an int8 scale that all channels share wastes codes on none.
#pragma once

#include "vernier/calibrate/weights/input_patches.h"
#include "vernier/ir/graph.h"

namespace vernier {

// Changes weights and biases; the outputs of the float model change by roundings alone. Gives the pairs of
// layers that were equalised.
size_t equalise_layers(Graph& graph);

// Bias correction: M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization Through
// Weight Equalization and Bias Correction", ICCV 2019 (arXiv:1906.04721), section 4.2, by samples.
//
// Rounding weights and clipping inputs move the mean of what a layer sums up; the bias moves it back.

// Adds to the bias of `quantized` what its int8 sums lack, in the mean over the patches, of the sums of
// `exact`, the same layer before its weights were changed. Gives the largest change; nothing where the layer
// has no place for a bias, or there is no patch.
std::optional<double> correct_bias(const LayerWeights& exact, LayerWeights& quantized,
                                   const InputPatches& patches, const std::optional<ScaleEntry>& entry);

}  // namespace vernier

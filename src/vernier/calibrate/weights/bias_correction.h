// Bias correction: M. Nagel, M. van Baalen, T. Blankevoort, M. Welling, "Data-Free Quantization Through
// Weight Equalization and Bias Correction", ICCV 2019 (arXiv:1906.04721), section 4.2, by samples.
//
// Rounding weights and clipping inputs move the mean of what a layer sums up; the bias moves it back.
#pragma once

#include "vernier/calibrate/weights/layer_codes.h"

namespace vernier {

// Adds to the bias of `quantised` what its int8 sums lack, in the mean over the patches, of the sums of
// `exact`, the same layer before its weights were changed. Gives the largest change; nothing where the layer
// has no place for a bias, or there is no patch.
std::optional<double> correct_bias(const LayerWeights& exact, LayerWeights& quantised,
                                   const InputPatches& patches, const std::optional<ScaleEntry>& entry);

}  // namespace vernier

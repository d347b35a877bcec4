// Rounding learnt layer by layer: M. Nagel, R. A. Amjad, M. van Baalen, C. Louizos, T. Blankevoort, "Up or
// Down? Adaptive Rounding for Post-Training Quantization", ICML 2020 (arXiv:2004.10568).
//
// The nearest code of each weight is not the best for the layer: errors of weights whose inputs go together
// may cancel. As there, each weight goes up or down so that the mean square error of what the layer sums up,
// e' H e with H = E[x x'], is the least. The paper relaxes the choice and descends the gradient; here single
// weights are flipped as long as that helps, which has no step size and gives the same in every run.
#pragma once

#include "vernier/calibrate/weights/input_patches.h"

namespace vernier {

struct RoundingResult {
  size_t flipped = 0;              // weights that are not rounded to the nearest code
  double nearest = 0, learnt = 0;  // mean square errors of the sums on patches that were not learnt from
};

// Makes the weights what their int8 codes stand for; the same codes follow from them again. Where learning
// does not hold on the quarter of the patches that is held out, weights stay as they are. `centred`: a
// constant error does not count, for the bias takes it up.
RoundingResult learn_rounding(LayerWeights& layer, const InputPatches& patches,
                              const std::optional<ScaleEntry>& entry, bool centred);

}  // namespace vernier

// Convolutions as products of pairs of int16 (pair_block.h), whose windows are read from lines of the image
// that are widened once: windows overlap, and gathering each as a row widens a pixel again for every tap.
#pragma once

#include "vernier/backends/cpu/tiles/pair_contraction.h"

namespace vernier::cpu {

// Whether the lines that some windows read can be kept, and are worth it. A segment of a row is then what the
// window has of a line.
bool suits_lines(const PairWindows& windows);

// For windows that suit, and weights of as many segments as the windows have lines.
std::unique_ptr<Kernel> make_pair_lines(const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order, std::shared_ptr<const PackedForm> weights,
                                        std::unique_ptr<const TileFinish> finish);

}  // namespace vernier::cpu

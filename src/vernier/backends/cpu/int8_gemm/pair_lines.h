// Convolutions of int8, whose windows are read from lines of the image that are laid out once: windows
// overlap, and gathering each as a row lays a pixel out again for every tap.
#pragma once

#include "vernier/backends/cpu/int8_gemm/pair_contraction.h"

namespace vernier::cpu {

// Whether the lines that some windows read can be kept, and are worth it. A segment of a row is then what the
// window has of a line.
bool suits_lines(const PairWindows& windows);

// For windows that suit, and weights of as many segments as the windows have lines. Products of pairs of
// int16 (pair_block.h).
std::unique_ptr<Kernel> make_pair_lines(const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order, std::shared_ptr<const PackedForm> weights,
                                        std::unique_ptr<const BlockEpilogue> epilogue);

// Products of int8 four by four (quad_block.h). Nothing, with `reason`, for weights that do not suit, and
// inputs whose zero point is not known.
std::unique_ptr<Kernel> make_quad_lines(const KernelRequest& request, const Tensor& weights,
                                        const PairRows& rows, const PairWindows& windows,
                                        const PairWeights& order,
                                        std::unique_ptr<const BlockEpilogue> epilogue, std::string& reason);

}  // namespace vernier::cpu

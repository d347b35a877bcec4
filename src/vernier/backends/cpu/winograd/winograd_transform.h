// The transforms of Winograd's convolutions of 3 by 3: F(m, 3) of m = 2 and 4, with vectors of channels.
//
// A tile of (m + 2)^2 pixels becomes as many numbers for each channel, so do the 9 weights; the products of
// both, summed over the channels, become m^2 outputs. Those are 2.25 (m = 2) and 4 (m = 4) times fewer
// products. Of noise, rounding errors are 0.7 and 4 times those of a direct sum; but a pixel that is much
// larger than others is cancelled in outputs of its tile that do not see it, and an infinite one makes them
// NaN. (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015)
#pragma once

#include <cstdint>

#include "vernier/numeric/element_type.h"

namespace vernier::cpu {

struct WinogradSize {
  int64_t outputs;  // 2 or 4, of a line of a tile

  int64_t pixels() const { return outputs + 2; }             // of a line
  int64_t positions() const { return pixels() * pixels(); }  // of a tile
};

inline constexpr int64_t kWinogradLanes = 16;  // channels come in multiples of them

struct WinogradInput {
  const void* const* pixels;  // of a tile, line by line, each of `channels` floats or bfloat16
  int64_t channels;
  void* to;          // for each position, of the same type
  int64_t position;  // elements from a position to the next
};
void transform_input(const WinogradSize& size, ElementType element, const WinogradInput& input);

struct WinogradSums {
  const float* sums;  // of a tile, for each position 32 columns
  int64_t position;   // elements from a position to the next
  float* to;          // m lines of m outputs of 32 columns
  int64_t line;       // elements from a line to the next
};
void transform_sums(const WinogradSize& size, const WinogradSums& sums);

// 9 weights of 32 columns as those of each position: weights[9][32], to[positions][32].
void transform_weights(const WinogradSize& size, const float* weights, float* to);

}  // namespace vernier::cpu

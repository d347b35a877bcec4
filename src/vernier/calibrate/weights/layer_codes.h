// What a layer is in int8: its weights, and what it multiplies them with.
#pragma once

#include <optional>
#include <vector>

#include "vernier/calibrate/weights/input_patches.h"
#include "vernier/precision/calibration.h"

namespace vernier {

// The scale that int8 gives a row of weights: the largest magnitude becomes 127.
double row_scale(const LayerWeights& layer, size_t output);

// Rounds each value to what a code stands for.
void round_to_codes(std::vector<float>& values, const ScaleEntry& entry);

// The patches of one group as the float model and as int8 multiply them; each is [count, depth].
struct GroupPatches {
  std::vector<float> exact, coded;
};
// Without an entry what int8 multiplies is what the float model does.
GroupPatches group_patches(const InputPatches& patches, size_t group, const std::optional<ScaleEntry>& entry);

}  // namespace vernier

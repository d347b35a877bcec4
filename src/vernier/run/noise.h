#pragma once

#include "vernier/compare/compare.h"

namespace vernier {

// How far each value moved between a run and one with rounding noise: the floor below which differences mean
// nothing.
std::map<std::string, NoiseFloor> noise_floor(const Trace& reference, const Trace& noisy);

}  // namespace vernier

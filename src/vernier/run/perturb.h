// Inputs moved by the least that their type can express: what the answer does then is the noise it carries anyway.
#pragma once

#include <cstdint>

#include "vernier/exec/runner.h"

namespace vernier {

// Every element of a floating-point tensor is moved to the next number above or below, or stays, at random (`seed`).
// Zeros, NaN and Inf stay, as do tensors of other types.
NamedData perturbed(const NamedData& inputs, uint64_t seed);
bool has_floats(const NamedData& inputs);

// Relative L2 of each value of `moved` against the value of that name in `reference`: the noise floor.
std::map<std::string, double> noise_floor(const Trace& reference, const Trace& moved);

}  // namespace vernier

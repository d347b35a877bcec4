// A step of a plan by itself.
#pragma once

#include "vernier/exec/dynamic_shape_executor.h"

namespace vernier {

// Runs the step on tensors that are given: what its kernel makes of what the reference, or another engine,
// had in its place. `inputs`: row-major and of the sizes of the step's slots; undefined where it takes none,
// or takes a constant, which it reads as the plan has it. Gives the outputs, row-major; undefined where it
// makes none. `host`: kernels of the host, by which the plan was made. Throws bad_input for an input of
// another type or other sizes, and what the step throws.
std::vector<Datum> run_alone(const Plan& plan, const Step& step, const Backend& host,
                             std::span<const Datum> inputs,
                             const std::vector<std::vector<Datum>>& captured = {});

}  // namespace vernier

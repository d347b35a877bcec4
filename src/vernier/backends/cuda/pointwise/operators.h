// The pointwise operators that programs know (kernels/functions.cu).
#pragma once

#include "vernier/backends/shared/pointwise/program.h"

namespace vernier::cuda {

struct PointwiseOperator {
  std::string_view name;
  int attributes = 0;  // how many it takes
  bool floats = true, integers = false, bools = false;
};

// Throws pointwise::Refused for an operator, or a type, that has no function.
const PointwiseOperator& operator_of(const pointwise::Instruction& instruction);
// Whether some data of integers have no result.
bool may_fault(const pointwise::Instruction& instruction);
// Functions of f32 that are not rounded correctly.
bool is_approximate(const pointwise::Instruction& instruction);
// Whether it is quicker where its results are rounded to 16 bits next ("Gelu16").
bool is_quick_in_16_bits(const pointwise::Instruction& instruction);

}  // namespace vernier::cuda

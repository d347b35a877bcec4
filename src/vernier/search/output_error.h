// How far the outputs of one run are from the declared reference.
#pragma once

#include "vernier/search/target.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct OutputError {
  double relative_l2 = 0;  // the worst of the float outputs
  double elements = 0;     // the worst of all elements, in multiples of what is allowed
};

// Infinite where an output is missing, sizes differ, or a NaN or Inf stands on one side only. `tolerances`
// null: tensors of floats alone are looked at, and not their elements. Otherwise an output that is no tensor
// is infinitely wrong, for its elements cannot be judged.
OutputError output_error(const NamedData& expected, const NamedData& actual, const Tolerances* tolerances);

}  // namespace vernier

// A precision plan must keep to a target.
#pragma once

#include "vernier/compare/tolerance.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct TuneTarget {
  enum class Kind : uint8_t {
    kRelativeL2,  // of each float output of each sample; deviations are relative L2 distances
    kElements,    // of each element of each output; deviations are multiples of what is allowed
    kMetric,      // of all rows together; deviations are points lost against the declared reference
  };
  Kind kind = Kind::kRelativeL2;
  double tolerance = 0;      // kRelativeL2
  Tolerances elements = {};  // kElements
  std::string metric = {};   // kMetric: of metric_names(), or a file of Python
  double max_loss = 0.1;     // kMetric, in points

  double limit() const {
    return kind == Kind::kRelativeL2 ? tolerance : kind == Kind::kElements ? 1 : max_loss;
  }
  // Whether deviations are errors, of which those of parts tell that of the whole.
  bool is_error() const { return kind == Kind::kRelativeL2; }
  // "relative L2 at most 0.001"
  std::string text() const;
};

// How far the outputs of one run are from the declared reference.
struct OutputError {
  double relative_l2 = 0;  // the worst of the float outputs
  double elements = 0;     // the worst of all elements, in multiples of what is allowed
};

// Infinite where an output is missing, sizes differ, or a NaN or Inf stands on one side only. `tolerances`
// null: tensors of floats alone are looked at, and not their elements. Otherwise an output that is no tensor
// is infinitely wrong, for its elements cannot be judged.
OutputError output_error(const NamedData& expected, const NamedData& actual, const Tolerances* tolerances);

}  // namespace vernier

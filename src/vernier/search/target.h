// What a precision plan must keep to.
#pragma once

#include "vernier/compare/tolerance.h"

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
  std::string metric = {};   // kMetric: top1, top5, cosine, iou, or a file of Python
  double max_loss = 0.1;     // kMetric, in points

  double limit() const {
    return kind == Kind::kRelativeL2 ? tolerance : kind == Kind::kElements ? 1 : max_loss;
  }
  // Whether deviations are errors, of which those of parts tell that of the whole.
  bool is_error() const { return kind == Kind::kRelativeL2; }
  // "relative L2 at most 0.001"
  std::string text() const;
};

}  // namespace vernier

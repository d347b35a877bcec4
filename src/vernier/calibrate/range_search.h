// The range that loses least. Internal to the room.
#pragma once

#include <functional>

#include "vernier/precision/calibration.h"

namespace vernier {

struct RangeEnds {
  double low, high;  // low <= 0 <= high
};

using ScaleOfRange = ScaleEntry (*)(double low, double high);
using RangeLoss = std::function<double(const ScaleEntry&)>;

// Of the ranges that are a part of `all`, the scale with the least loss, and of equal ones that of the
// widest. With `each_end` the two ends are narrowed each by itself, else together.
ScaleEntry best_scale(const RangeEnds& all, bool each_end, ScaleOfRange scale_of, const RangeLoss& loss);

}  // namespace vernier

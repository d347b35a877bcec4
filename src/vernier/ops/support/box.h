// Boxes of NonMaxSuppression.
#pragma once

#include <algorithm>
#include <tuple>

namespace vernier::ops {

struct Box {
  double left, top, right, bottom, area;

  // `values` holds y1, x1, y2, x2 of any two opposite corners, or x, y, width, height about the centre.
  Box(const double* values, bool centre) {
    if (centre) {
      left = values[0] - values[2] / 2;
      right = values[0] + values[2] / 2;
      top = values[1] - values[3] / 2;
      bottom = values[1] + values[3] / 2;
    } else {
      std::tie(top, bottom) = std::minmax(values[0], values[2]);
      std::tie(left, right) = std::minmax(values[1], values[3]);
    }
    area = (right - left) * (bottom - top);
  }

  // Intersection over union; boxes without area overlap nothing, which is -1: below any threshold.
  double overlap(const Box& other) const {
    const double width = std::min(right, other.right) - std::max(left, other.left);
    const double height = std::min(bottom, other.bottom) - std::max(top, other.top);
    if (!(width > 0 && height > 0)) return -1;
    const double common = width * height;
    return common / (area + other.area - common);
  }
};

}  // namespace vernier::ops

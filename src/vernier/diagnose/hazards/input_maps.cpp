#include <fmt/format.h>

#include "vernier/diagnose/hazards/calibrations.h"

namespace vernier {

const std::vector<InputMap>& input_maps() {
  constexpr double kMean = 0.45, kDeviation = 0.225;  // of pixels
  static const std::vector<InputMap> maps = [] {
    std::vector<InputMap> all{
        {"in 0 to 255 where 0 to 1 is meant, or the other way round", 255, 0},
        {"in 0 to 1 where 0 to 255 is meant", 1.0 / 255, 0},
        {"not normalised", kDeviation, kMean},
        {"not normalised, in 0 to 255", 255 * kDeviation, 255 * kMean},
        {"normalised", 1 / kDeviation, -kMean / kDeviation},
        {"normalised, from 0 to 255", 1 / (255 * kDeviation), -kMean / kDeviation},
        {"in 0 to 1 where -1 to 1 is meant", 0.5, 0.5},
        {"in -1 to 1 where 0 to 1 is meant", 2, -1},
        {"in 0 to 255 where -1 to 1 is meant", 127.5, 127.5},
        {"in -1 to 1 where 0 to 255 is meant", 1 / 127.5, -1},
    };
    for (double factor = 2; factor <= 64; factor *= 2) {
      all.push_back({fmt::format("{} times as large", factor), factor, 0});
      all.push_back({fmt::format("{} times as small", factor), 1 / factor, 0});
    }
    return all;
  }();
  return maps;
}

}  // namespace vernier

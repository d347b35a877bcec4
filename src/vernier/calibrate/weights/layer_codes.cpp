#include "vernier/calibrate/weights/layer_codes.h"

#include <algorithm>
#include <cmath>

namespace vernier {

double row_scale(const LayerWeights& layer, size_t output) {
  constexpr double kInt8Max = 127;
  double largest = 0;
  for (size_t i = 0; i < layer.depth; ++i) largest = std::max(largest, std::abs(layer.row(output)[i]));
  const auto scale = static_cast<float>(largest / kInt8Max);  // as graphs hold it
  return scale > 0 ? static_cast<double>(scale) : 1;
}

void round_to_codes(std::vector<float>& values, const ScaleEntry& entry) {
  const auto zero = static_cast<double>(entry.zero_point);
  const auto least = static_cast<double>(integer_min(entry.type)),
             largest = static_cast<double>(integer_max(entry.type));
  for (float& value : values) {
    const double code = std::nearbyint(static_cast<double>(value) / entry.scale) + zero;
    value = static_cast<float>((std::clamp(code, least, largest) - zero) * entry.scale);
  }
}

GroupPatches group_patches(const InputPatches& patches, size_t group,
                           const std::optional<ScaleEntry>& entry) {
  GroupPatches result{patches.group(group), {}};
  result.coded = result.exact;
  if (entry) round_to_codes(result.coded, *entry);
  return result;
}

}  // namespace vernier

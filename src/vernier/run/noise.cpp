#include "vernier/run/noise.h"

#include "vernier/compare/distance.h"

namespace vernier {

std::map<std::string, NoiseFloor> noise_floor(const Trace& reference, const Trace& noisy) {
  std::map<std::string, NoiseFloor> floors;
  for (const TraceEntry& entry : reference.entries) {
    const TraceEntry* other = noisy.find(entry.value);
    if (other == nullptr || !entry.datum.is_tensor() || !other->datum.is_tensor()) continue;
    const Tensor &a = entry.datum.tensor, &b = other->datum.tensor;
    if (!is_float(a.type()) || !is_float(b.type()) || a.dims() != b.dims()) continue;
    if (a.size() == 0) continue;
    // What noise makes infinite, or no number, has no floor: nothing is within it.
    const Distances moved = distances_of(a, b);
    NoiseFloor floor{moved.relative_l2, moved.max_abs, noisy.unit_roundoff};
    floors[entry.value] = floor;
  }
  return floors;
}

}  // namespace vernier

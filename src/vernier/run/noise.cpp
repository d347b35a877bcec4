#include "vernier/run/noise.h"

#include <cmath>

namespace vernier {

std::map<std::string, NoiseFloor> noise_floor(const Trace& reference, const Trace& noisy) {
  std::map<std::string, NoiseFloor> floors;
  for (const TraceEntry& entry : reference.entries) {
    const TraceEntry* other = noisy.find(entry.value);
    if (other == nullptr || !entry.datum.is_tensor() || !other->datum.is_tensor()) continue;
    const Tensor &a = entry.datum.tensor, &b = other->datum.tensor;
    if (!is_float(a.type()) || !is_float(b.type()) || a.dims() != b.dims()) continue;
    const auto x = a.to_doubles(), y = b.to_doubles();
    double difference = 0, norm = 0;
    NoiseFloor floor;
    for (size_t i = 0; i < x.size(); ++i) {
      if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
      floor.max_abs = std::max(floor.max_abs, std::abs(x[i] - y[i]));
      difference += (x[i] - y[i]) * (x[i] - y[i]);
      norm += x[i] * x[i];
    }
    floor.unit_roundoff = noisy.unit_roundoff;
    floor.relative_l2 = norm > 0 ? std::sqrt(difference / norm) : 0;
    floors[entry.value] = floor;
  }
  return floors;
}

}  // namespace vernier

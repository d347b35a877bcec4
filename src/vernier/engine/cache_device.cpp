#include "vernier/engine/cache_device.h"

#include "vernier/exec/device/host_device.h"

namespace vernier {

CacheDevice cache_device(const Engine& engine) {
  const auto accelerators = engine.accelerators();
  if (accelerators.empty()) return {kHost, &host_device()};
  return {kHost + 1, &accelerators.front()->device()};
}

}  // namespace vernier

#include "vernier/tune/shared_timing_cache.h"

namespace vernier {

std::shared_ptr<TimingCache> shared_timing_cache(const std::string& device) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<TimingCache>> caches;
  const std::lock_guard lock(mutex);
  auto& cache = caches[device];
  if (!cache) cache = std::make_shared<TimingCache>(device);
  return cache;
}

}  // namespace vernier

// Where caches that a session keeps lie best.
#pragma once

#include "vernier/engine/engine.h"

namespace vernier {

struct CacheDevice {
  int number;  // CacheBinding::device
  Device* device;
};

// The accelerator that the engine prefers, since the attention that reads caches runs there; the host where
// there is none. Lives as long as the engine.
CacheDevice cache_device(const Engine& engine);

}  // namespace vernier

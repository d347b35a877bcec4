// The timing cache of this process, for builds that are given none: what one of them timed, the next need
// not.
#pragma once

#include <memory>

#include "vernier/tune/timing_cache.h"

namespace vernier {

// One for each device, see TimingCache. Thread-safe.
std::shared_ptr<TimingCache> shared_timing_cache(const std::string& device);

}  // namespace vernier

// Data parallelism over index ranges.
#pragma once

#include <cstdint>
#include <functional>

namespace vernier {

// Threads that parallel_for uses, the caller's included; at least 1. The default is the number of cores.
int thread_count();
void set_thread_count(int count);

// Calls body(begin, end) over disjoint ranges that cover [0, count), at least `grain` indices each but for
// the last. The split depends on count and grain alone, not on the number of threads, so sums per range are
// reproducible. An exception thrown by `body` reaches the caller. A nested call runs in the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace vernier

// Data parallelism over index ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace vernier {

// Cores that this process may use: those of its affinity mask, or fewer where the quota of its control group
// (cgroup v2) is worth fewer. Threads beyond a quota are all stopped together when it is spent.
int available_cores();
// Gives the cores that a quota of cpu.max is worth ("400000 100000": microseconds of each period), rounded
// up; 0 for "max".
int cores_of_quota(const std::string& cpu_max);

// Threads that parallel_for and kernels use when they are called from this thread, itself included; at
// least 1. The default is available_cores().
int thread_count();
// For all threads that have no limit of their own (thread_limit.h); 0: the default.
void set_thread_count(int count);

// Calls body(begin, end) over disjoint ranges that cover [0, count), at least `grain` indices each but for
// the last. The split depends on count and grain alone, not on the number of threads, so sums per range are
// reproducible. An exception thrown by `body` reaches the caller. A nested call runs in the calling thread.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace vernier

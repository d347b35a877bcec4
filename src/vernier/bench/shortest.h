// The time of what takes little of it.
#pragma once

#include <functional>

namespace vernier {

// Seconds of the shortest of some runs, after one that does not count; they take about 50 ms.
double shortest(const std::function<void()>& run);

}  // namespace vernier

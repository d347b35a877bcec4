// The time of what takes little of it.
#pragma once

#include <functional>

namespace vernier {

// Seconds of the shortest of some runs, after one that does not count: of three at least, and of as many as
// take 50 ms together.
double shortest(const std::function<void()>& run);

}  // namespace vernier

// Which approximations can stay together within a limit.
#pragma once

#include <vector>

namespace vernier {

// One that can be had or not.
struct Approximation {
  double saved = 0;           // what it is worth: seconds
  std::vector<double> share;  // of the limit, squared, that it takes at each place; NaN is more than any
};

// Those whose shares sum up to at most 1 at every place, and which save much: errors of unlike origin are
// independent, so their squares add up. Begins with all, gives up whichever relieves the places beyond the
// limit most for what it saves, and takes back in the end what fits after all. The same input gives the same
// choice.
std::vector<bool> keep_within_limit(const std::vector<Approximation>& approximations);

}  // namespace vernier

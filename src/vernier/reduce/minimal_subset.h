// Delta debugging (Zeller and Hildebrandt, 2002).
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace vernier {

// A subset of the items 0 to count - 1, ascending, for which `holds` is true, and of which no item can be
// left out. `holds` is true for all of them, and is asked about no subset twice. It may answer false to
// everything from some time on: then the smallest subset so far is the answer.
std::vector<size_t> minimal_subset(size_t count,
                                   const std::function<bool(const std::vector<size_t>&)>& holds);

}  // namespace vernier
